"""The self-test: payloads with known verdicts, which detect an untested parser.

A grammar of another version, or a damaged library, would silently judge wrongly (service.md, "Observability": readiness
needs a parser self-test).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.errors import Code
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.verdict import Verdict

CASES: Final = (
    (b"const n = [1, 2].map((each) => each ** 2); `${n}`", None),
    (b"[]['constr' + 'uctor']['constr' + 'uctor']('return 1')()", Code.EVAL_BLOCKED_CONSTRUCT),
    (b"process.exit(0)", Code.EVAL_BLOCKED_KEYWORD),
    (b"const = ;", Code.EVAL_SYNTAX_ERROR),
    (b"'\xed\xa0\x80'", Code.EVAL_BAD_ENCODING),
)
"""Payloads for the main process under the default policy, and their codes (None: allowed)."""

_RULES: Final = Policy.default().allowing([Target.MAIN]).rules_for(Target.MAIN)


class SelfTestError(RuntimeError):
    """The guard returns a wrong verdict on a known payload."""


def self_test(judge: Callable[..., Verdict] = judge) -> None:
    """Judge ``CASES``; raise SelfTestError with the number of the first wrong case."""
    for number, (payload, code) in enumerate(CASES):
        verdict = judge(payload, target=Target.MAIN, shape=None, rules=_RULES)
        if verdict.code != code:
            raise SelfTestError(
                f"the guard's self-test failed: case {number} gives {verdict.code}, not {code}"
            )
