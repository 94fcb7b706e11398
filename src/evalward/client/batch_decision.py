"""Many payloads in one request: each verdict is proven separately, and an unproven one is a denial (contract.md §5)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evalward.client import request_fields
from evalward.client.failure import failed
from evalward.client.guard_reply import Decision, Unproven, read_envelope
from evalward.client.hardened import bound_program
from evalward.client.proof import check_error, check_validated
from evalward.client.question import Question
from evalward.client.request_fields import Unsendable
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evalward.client.question import Questions

BUDGET_ITEMS: Final = 32  # this many small payloads share the timeout of one
STATUSES: Final = {
    pb.ITEM_STATUS_ALLOWED: "allowed",
    pb.ITEM_STATUS_FAILED: "failed",
    pb.ITEM_STATUS_SKIPPED: "skipped",
}


@dataclass(frozen=True, slots=True)
class Payload:
    """One payload of a batch or a stream; the fields are the parameters of ``GuardClient.validate``."""

    code: bytes
    target: str | None = None
    shape: str | None = None
    sink: str | None = None
    bindings: Mapping[str, str] | None = None
    profile: str | None = None
    limits: Mapping[str, int] | None = None
    include_context: bool = False
    harden: bool | None = None
    prepared: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ItemDecision(Decision):
    """The decision on one payload, at ``item_index`` from 0. Run it if and only if ``allowed`` is true.

    ``status`` is ``allowed``, ``failed``, or ``skipped`` for one that was not judged because an earlier one failed.
    """

    item_index: int = 0
    status: str = "failed"

    @classmethod
    def of(cls, decision: Decision, item_index: int, status: str) -> ItemDecision:
        """Return ``decision`` as the decision on one item."""
        return cls(
            allowed=decision.allowed,
            code=decision.code,
            envelope=decision.envelope,
            code_hash=decision.code_hash,
            decision_id=decision.decision_id,
            hardened=decision.hardened,
            item_index=item_index,
            status=status,
        )


@dataclass(frozen=True, slots=True)
class BatchDecision(Decision):
    """The decision on a batch: ``allowed`` when every payload may run, ``items`` with one decision per payload."""

    items: tuple[ItemDecision, ...] = ()


def refused(count: int, denial: Decision) -> BatchDecision:
    """Return ``denial`` as the decision on a batch of ``count`` payloads and on each of them."""
    items = tuple(ItemDecision.of(denial, index, "failed") for index in range(count))
    return BatchDecision(
        allowed=False,
        code=denial.code,
        envelope=denial.envelope,
        code_hash=denial.code_hash,
        decision_id=denial.decision_id,
        items=items,
    )


def item_request(questions: Questions, item: Payload, session_id: str) -> pb.ValidateRequest:
    """Return the request of one payload; raise Unsendable."""
    if not isinstance(item, Payload):
        raise Unsendable("items", "takes Payload objects")
    asked = {each.name: getattr(item, each.name) for each in fields(item)}
    request = questions.validate(asked.pop("code"), **asked, session_id=session_id).request
    assert isinstance(request, pb.ValidateRequest)  # noqa: S101 - what it builds
    return request


def batch_question(
    questions: Questions, items: Iterable[Payload], *, stop_on_first: bool, session_id: str
) -> Question[BatchDecision]:
    """Return the request whether all of ``items`` may run; raise Unsendable."""
    request = pb.ValidateBatchRequest(
        items=[item_request(questions, item, session_id) for item in items],
        stop_on_first=request_fields.flag("stop_on_first", stop_on_first),
        session_id=request_fields.text("session_id", session_id),
        request_id=secrets.token_hex(8),
    )
    size = sum(len(item.code) for item in request.items)
    seconds = max(questions.budget(size), questions.seconds * len(request.items) / BUDGET_ITEMS)
    read = partial(batch_from, request, policy_digest=questions.policy_digest)
    return Question("ValidateBatch", request, seconds, read)


def batch_from(
    request: pb.ValidateBatchRequest, response: pb.ValidateBatchResponse, *, policy_digest: str | None
) -> BatchDecision:
    """Return the decisions in ``response``; raise Unproven when it does not hold for ``request`` as a whole."""
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    allowed = outcome == "allowed"
    envelope = read_envelope(response.envelope, ok=allowed)
    if not allowed:
        check_error(response.error, envelope)
    whole = Decision(
        allowed=allowed,
        code=None if allowed else envelope["code"],
        envelope=envelope,
        decision_id=str(envelope["_meta"].get("decision_id", "")),
    )
    if not allowed and not response.bindings and not response.failures:
        return refused(len(request.items), whole)
    items = tuple(_items(request, response, whole, policy_digest))
    denials = [item for item in items if item.allowed is not True]
    if allowed and denials:
        whole = denials[0]
    return BatchDecision(
        allowed=not denials and allowed,
        code=whole.code,
        envelope=whole.envelope,
        decision_id=whole.decision_id,
        items=items,
    )


def _items(
    request: pb.ValidateBatchRequest,
    response: pb.ValidateBatchResponse,
    whole: Decision,
    policy_digest: str | None,
) -> Iterable[ItemDecision]:
    """Yield the decision on each item, from its failure or binding; raise Unproven when they do not match."""
    count = len(request.items)
    places = [failure.item_index for failure in response.failures]
    skipped = {each.item_index for each in response.failures if each.status == pb.ITEM_STATUS_SKIPPED}
    if response.item_count != count or places != sorted(set(places)) or any(at >= count for at in places):
        raise Unproven("the verdict is about other items")
    if len(response.bindings) != count - len(skipped) or (not places) is not whole.allowed:
        raise Unproven("the verdict is about other items")
    failures = dict(zip(places, response.failures, strict=True))
    programs = {each.item_index: each.hardened for each in response.hardened}
    if len(programs) != len(response.hardened) or not {*range(count)}.difference(places).issuperset(programs):
        raise Unproven("the verdict is about other items")
    bindings = iter(response.bindings)
    for index, item in enumerate(request.items):
        if index in skipped:
            yield ItemDecision.of(whole, index, "skipped")
            continue
        try:
            decision = _item(
                item, next(bindings), failures.get(index), programs.get(index), whole, policy_digest
            )
        except Unproven as doubt:
            decision = failed(doubt)
        yield ItemDecision.of(decision, index, "allowed" if decision.allowed else "failed")


def _item(  # noqa: PLR0913, PLR0917 - the parts of a reply that are about one item
    item: pb.ValidateRequest,
    binding: pb.VerdictBinding,
    failure: pb.BatchItemFailure | None,
    hardened: pb.Hardened | None,
    whole: Decision,
    policy_digest: str | None,
) -> Decision:
    if failure is not None:
        envelope = read_envelope(failure.envelope, ok=False)
        check_error(failure.error, envelope)
    else:
        # An allowed item has no envelope: the batch's envelope proves the policy, the item's binding the rest.
        meta: dict[str, Any] = {**whole.envelope["_meta"], "decision_id": binding.decision_id}
        envelope = {"ok": True, "_meta": meta}
    check_validated(item, binding, envelope, policy_digest=policy_digest)
    return Decision(
        allowed=failure is None,
        code=None if failure is None else str(envelope["code"]),
        envelope=envelope,
        code_hash=binding.code_hash,
        decision_id=binding.decision_id,
        hardened=None if failure is not None else bound_program(item, binding, hardened, None),
    )
