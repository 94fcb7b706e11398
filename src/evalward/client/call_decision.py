"""The verdict on a tool call: it counts only if every field that will run was judged."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from evalward.client.guard_reply import Decision, Unproven, read_envelope
from evalward.client.hardened import proven_program, refuse_without, stated_hash
from evalward.client.proof import check_binding, check_error
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Collection


_SOURCE = frozenset({"", "source"})
_CODE = frozenset({"", "source", "markup"})
"""The kinds that are judged for a target."""


class JudgedField(NamedTuple):
    """A field that was judged: its RFC 6901 JSON Pointer, the SHA-256 of its UTF-8 bytes, and its kind.

    The kind is that of the server's manifest (``source``, ``url``, …), empty from a server that judges only source.
    ``hardened`` is the program (ASCII) to run instead of the field.
    """

    path: str
    sha256: str
    kind: str = ""
    hardened: bytes | None = None


@dataclass(frozen=True, slots=True)
class CallDecision(Decision):
    """The guard's answer about a tool call. Make the call if and only if ``allowed`` is true.

    ``judged`` are the judged fields, empty for a tool without fields to judge.
    """

    judged: tuple[JudgedField, ...] = ()

    @classmethod
    def denied(cls, denial: Decision) -> CallDecision:
        """Return ``denial`` as the answer about a call."""
        return cls(
            allowed=False,
            code=denial.code,
            envelope=denial.envelope,
            code_hash=denial.code_hash,
            decision_id=denial.decision_id,
        )


def call_decision_from(  # noqa: PLR0913 - the question, the reply, and what the caller insists on
    request: pb.ValidateCallRequest,
    response: pb.ValidateCallResponse,
    *,
    runs: Collection[str],
    target: pb.Target.ValueType | None,
    shape: pb.Shape.ValueType | None,
    sink: str | None,
    policy_digest: str | None,
) -> CallDecision:
    """Return the decision in ``response``; raise Unproven when it does not hold for ``request``.

    ``runs`` are the JSON Pointers of the fields that the caller will evaluate, ``target``, ``shape`` and
    ``sink`` where and how; None: as in the server's manifest.
    """
    outcome = response.WhichOneof("outcome")
    if outcome is None:
        raise Unproven("the reply has no outcome")
    allowed = outcome == "allowed"
    envelope = read_envelope(response.envelope, ok=allowed)
    code = None if allowed else str(envelope["code"])
    if not allowed:
        check_error(response.error, envelope)
    binding = response.binding
    judged = tuple(_judged(request, field, envelope) for field in response.fields)
    asked = target if target is not None and allowed else binding.target
    check_binding(request, binding, envelope, target=asked, policy_digest=policy_digest)
    if response.tool != request.tool:
        raise Unproven("the verdict is about another tool")
    if allowed:
        if binding.target == pb.TARGET_UNSPECIFIED and any(each.kind in _CODE for each in judged):
            raise Unproven("the verdict does not say for which target the fields were judged")
        if shape is not None and (not binding.HasField("shape") or binding.shape != shape):
            raise Unproven("the verdict is about another shape")
        if sink is not None and binding.sink != sink:
            raise Unproven("the verdict is about another sink")
        _check_fields(request.arguments_json, judged, runs)
        for field in judged:
            if field.hardened is None and field.kind in _SOURCE:
                refuse_without(request.harden)
    return CallDecision(
        allowed=allowed,
        code=code,
        envelope=envelope,
        code_hash=binding.code_hash,
        decision_id=binding.decision_id,
        judged=judged,
    )


def _judged(request: pb.ValidateCallRequest, field: pb.JudgedField, envelope: dict[str, Any]) -> JudgedField:
    """Return ``field`` with its program; raise Unproven when the envelope names another one."""
    program = proven_program(field.hardened, required=request.harden)
    if program is not None and field.hardened.sink != field.sink:
        raise Unproven("the program is for another sink")
    stated = envelope.get("fields")
    if isinstance(stated, list):
        about = [each for each in stated if isinstance(each, dict) and each.get("path") == field.path]
        if any(stated_hash(each) != field.hardened.sha256 for each in about):
            raise Unproven("the envelope contradicts the program")
    return JudgedField(field.path, field.sha256, field.kind, program)


def _check_fields(arguments_json: bytes, judged: tuple[JudgedField, ...], runs: Collection[str]) -> None:
    arguments = _parsed(arguments_json)
    for field in judged:
        text = _resolved(arguments, field.path)
        try:
            sent = str.encode(text)
        except UnicodeEncodeError:
            raise Unproven("a judged field is not UTF-8") from None
        if field.sha256 != hashlib.sha256(sent).hexdigest():
            raise Unproven("a judged field is not what was sent")
    if set(runs) - {field.path for field in judged}:
        raise Unproven("a field that would run was not judged")


def _resolved(arguments: Any, path: str) -> str:
    """Return the text at ``path``; raise Unproven when there is none."""
    value = arguments
    tokens = path.split("/")
    if tokens[0]:
        raise Unproven("the path of a judged field is not a JSON Pointer")
    for raw in tokens[1:]:
        token = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and _is_index(token) and int(token) < len(value):
            value = value[int(token)]
        else:
            raise Unproven("a judged field is not among the arguments")
    if not isinstance(value, str):
        raise Unproven("a judged field is not text")
    return value


def _is_index(token: str) -> bool:
    digits = token.isascii() and token.isdigit()
    return digits and (token == "0" or not token.startswith("0"))  # noqa: S105 - a token of a JSON Pointer


def _parsed(arguments_json: bytes) -> Any:
    # Two parsers may read different values for a repeated key, so only unambiguous JSON counts as judged.
    try:
        return json.loads(arguments_json, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Unproven("the arguments are not plain JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is repeated")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
