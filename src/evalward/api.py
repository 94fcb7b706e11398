"""The in-process API: judge a payload without a server (contract.md §7).

What it lacks against the service: no audit record is written, nothing is bound to a decision id, and parsing
holds the GIL, so that a long payload stalls the other threads of the calling process.

Verdicts are cached only if the caller passes a ``VerdictCache``: the library stores no payload or verdict implicitly,
and the owner of the cache decides its size, who shares it and when it is dropped.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from evalward.guard.repair import judge_repaired
from evalward.guard.rules import Hardening
from evalward.guard.target import Shape, Target, parse_target
from evalward.judging.hardening import judge_hardened, renewed
from evalward.judging.preparing import for_prepared
from evalward.policy import Policy, judge_under
from evalward.policy.named_sink import asked_sink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.verdict import Verdict
    from evalward.judging.verdict_cache import VerdictCache


def validate(  # noqa: PLR0913 - what a verdict follows from
    code: bytes,
    *,
    target: Target | str | None = None,
    shape: Shape | str | None = None,
    sink: str | None = None,
    policy: Policy | None = None,
    bindings: Mapping[str, str] | None = None,
    cache: VerdictCache | None = None,
    harden: bool = False,
    prepared: str = "",
) -> Verdict:
    """Return the verdict on ``code`` (UTF-8) for evaluation by ``sink``, or by ``target`` in ``shape``.

    A ``sink`` (``evalward sinks`` lists them) says what a driver does with a text: it has a target and bindings of
    its own, and excludes a shape. Without a sink the target is needed; without a shape, too, the payload must be safe
    under every possible one (guard.md §1). Without a policy no target is opted in and the answer is
    EVAL_TARGET_DENIED; ``Policy.default().allowing(...)`` opts in. ``bindings`` adds to what the policy says that the
    sink binds. A ``cache`` returns stored verdicts for the same payload under equal rules; policies, targets and
    threads may share it. With ``harden``, or where the policy requires it, an allow has the program to run instead of
    ``code`` (``Verdict.hardened``), for the sink or the shape; a payload without one is denied (EVAL_NOT_HARDENABLE).
    ``prepared`` is the key of the page that runs it, from ``prepare_runtime``: the program then has a short head
    instead of the run-time.

    Raises TypeError when ``code`` is not bytes: the bytes that are judged must be the bytes that run, so the caller
    decides on the encoding. Raises ValueError for a target, shape, sink or key that does not exist, or that contradicts
    the sink (then it is a CodedError, too). Every denial is a verdict, not an exception.
    """
    if not isinstance(code, bytes):
        raise TypeError(f"code must be bytes, not {type(code).__name__}; encode text with .encode('utf-8')")
    named = None if sink is None else asked_sink(sink, target=target, shape=shape, bindings=bindings)
    if target is None and named is None:
        raise ValueError("a payload needs a sink, or a target that would evaluate it")
    realm = parse_target(str(target)) if named is None else named.target
    in_force = policy or _default_policy()
    form = None if shape is None else Shape(shape)
    verdict = judge_under(
        in_force,
        code,
        target=realm,
        shape=form,
        bindings=bindings,
        sink=None if named is None else named.id,
        judge=judge_repaired if cache is None else cache.judge,
        judge_hardened=judge_hardened if cache is None else partial(cache.judge, harden=True),
        harden=Hardening.REQUIRED if harden else None,
    )
    made = verdict if cache is None else renewed(verdict)
    return for_prepared(made, prepared) if prepared else made


@lru_cache(maxsize=1)
def _default_policy() -> Policy:
    return Policy.default()
