"""The programs of this folder, and what a page makes of them as they are and hardened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from evalward.guard.harden.harden import harden_payload
from evalward.guard.harden.outcome import Hardened
from evalward.guard.target import Shape, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.oracle.cdp import Message

_HERE: Final = Path(__file__).parent
_TOGGLE: Final = "const tog=(a,b)=>{let n=0;return {toString(){return n++?b:a}}};\n"


@dataclass(frozen=True)
class Attack:
    """Programs that run text or reach a capability, one after another in a page, and some like them that do not.

    ``before`` is what the page itself runs first.
    ``expect`` is "reached" where the attack works unhardened, "inert" where it works only against a careless check, and
    "denied" where nothing shows in this page that it works.
    """

    id: str
    codes: tuple[str, ...]
    twins: tuple[str, ...]
    before: str = ""
    expect: str = "reached"
    wait: int = 60


@dataclass(frozen=True)
class Program:
    """The body of an async function."""

    id: str
    code: str


def attacks() -> list[Attack]:
    """Return the attacks of attacks.yaml and staged_attacks.yaml."""
    return [_attack(**case) for name in ("attacks", "staged_attacks") for case in _cases(name)]


def _cases(name: str) -> list[dict[str, Any]]:
    groups: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        (_HERE / f"{name}.yaml").read_text(encoding="utf-8")
    )
    return [case for cases in groups.values() for case in cases]


def _attack(*, code: str | list[str], twin: str | list[str], **case: Any) -> Attack:
    return Attack(codes=_programs(code), twins=_programs(twin), **case)


def _programs(code: str | list[str]) -> tuple[str, ...]:
    return (_TOGGLE + code,) if isinstance(code, str) else tuple(code)


def ordinary() -> list[Program]:
    """Return the programs of ordinary.yaml."""
    return [Program(**case) for case in _cases("ordinary")]


def all_hardened(codes: Sequence[str]) -> list[str]:
    """Return the scripts to run in a page instead of ``codes``, each with a prefix of its own."""
    return [hardened(code, Shape.SCRIPT, place) for place, code in enumerate(codes)]


def hardened(code: str, shape: Shape, place: int = 3) -> str:
    """Return the program to run in a page instead of ``code``; ``place`` is a digit of its prefix."""
    prefix = f"R4f5b0a9c27d1e86{place}"
    result = harden_payload(code.encode(), target=Target.RENDERER, shape=shape, prefix=prefix)
    assert isinstance(result, Hardened), result
    return result.text.decode("ascii")


def as_body(code: str) -> str:
    """Return an expression that calls ``code`` as the body of an async function."""
    return f"(async () => {{ {code}\n}})()"


def outcome(answer: Message) -> str:
    """Return how an evaluation ended, as text that two runs have in common."""
    if "gone" in answer:
        return "gone"
    if failure := answer.get("exceptionDetails"):
        description = failure.get("exception", {}).get("description", "")
        return "threw " + str(description).split("\n", 1)[0]
    result = answer["result"]
    return json.dumps(result["value"]) if "value" in result else str(result["type"])
