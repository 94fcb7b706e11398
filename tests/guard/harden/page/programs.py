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
    from evalward.oracle.cdp import Message

_HERE: Final = Path(__file__).parent
_TOGGLE: Final = "const tog=(a,b)=>{let n=0;return {toString(){return n++?b:a}}};\n"


@dataclass(frozen=True)
class Attack:
    """A program that runs text or reaches a capability, and one like it that does not.

    ``expect`` is "reached" where the attack works unhardened, "inert" where it works only against a careless check, and
    "denied" where nothing shows in this page that it works.
    """

    id: str
    code: str
    twin: str
    expect: str = "reached"
    wait: int = 60


@dataclass(frozen=True)
class Program:
    """The body of an async function."""

    id: str
    code: str


def attacks() -> list[Attack]:
    """Return the attacks of attacks.yaml."""
    groups: dict[str, list[dict[str, Any]]] = yaml.safe_load(
        (_HERE / "attacks.yaml").read_text(encoding="utf-8")
    )
    return [
        Attack(**case | {"code": _TOGGLE + case["code"], "twin": _TOGGLE + case["twin"]})
        for cases in groups.values()
        for case in cases
    ]


def ordinary() -> list[Program]:
    """Return the programs of ordinary.yaml."""
    groups: dict[str, list[dict[str, str]]] = yaml.safe_load(
        (_HERE / "ordinary.yaml").read_text(encoding="utf-8")
    )
    return [Program(**case) for cases in groups.values() for case in cases]


def hardened(code: str, shape: Shape) -> str:
    """Return the program to run in a page instead of ``code``."""
    result = harden_payload(code.encode(), target=Target.RENDERER, shape=shape, prefix="R4f5b0a9c27d1e863")
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
