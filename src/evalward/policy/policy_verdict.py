"""Judge a payload under a policy: its rules, its exceptions, its enforcement."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evalward.guard import judge
from evalward.guard.admission.admit import content_hash
from evalward.guard.rules import Hardening
from evalward.policy.enforcement import settled
from evalward.policy.hardening import hardened_under

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict
    from evalward.policy.enforcement import PolicyException
    from evalward.policy.model import Policy

    Judge = Callable[..., Verdict]


def utc_day() -> date:
    """Return today in UTC, the time zone of all days in a policy."""
    return datetime.now(UTC).date()


def exception_of(
    policy: Policy, code: bytes, target: Target, *, tool: str | None, today: date
) -> PolicyException | None:
    """Return the exception under which ``code`` is judged; nothing is hashed if the policy has none."""
    if not policy.exceptions:
        return None
    return policy.exception_for(content_hash(code), target, tool=tool, today=today)


def judge_under(  # noqa: PLR0913 - the payload, its frame, and who judges
    policy: Policy,
    code: bytes,
    *,
    target: Target,
    shape: Shape | None,
    bindings: Mapping[str, str] | None = None,
    sink: str | None = None,
    judge: Judge = judge,
    judge_hardened: Judge | None = None,
    harden: Hardening | None = None,
) -> Verdict:
    """Return the verdict of ``policy`` on ``code`` today; ``judge`` is the guard, or a cache in front of it.

    ``judge_hardened`` judges where an allow needs a program; without it none is made. ``harden`` is what the caller
    wants: ``required``, ``offered`` (what the policy offers), ``off``, or None: only what the policy requires. Raise
    OverrideRefusedError for ``off`` where the policy requires a program.
    """
    today = utc_day()
    wish = None if harden is Hardening.OFFERED else harden
    mode = policy.hardening_for(target, tool=None, wish=wish, today=today)
    if mode is Hardening.OFFERED and harden is None:
        mode = Hardening.OFF
    if mode is not Hardening.OFF and judge_hardened is not None:
        judge = judge_hardened
    exception = exception_of(policy, code, target, tool=None, today=today)
    rules = policy.rules_for(target, bindings=bindings, exception=exception)
    verdict = judge(code, target=target, shape=shape, rules=rules, sink=sink)
    enforcement = policy.enforcement_for(target, tool=None, today=today)
    return hardened_under(mode, settled(verdict, enforcement=enforcement, exception=exception))
