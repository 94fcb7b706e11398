"""The hardened program of a payload, and what happens when it runs: in the sandbox, and among the oracle's traps."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from evalward.guard.harden import NotHardenable, harden_payload
from evalward.guard.repair import judge_repaired
from evalward.guard.rules import Hardening
from evalward.guard.target import Shape, Target
from evalward.judging.hardening import judge_hardened, new_prefix
from evalward.oracle import reached
from evalward.policy import judge_under
from evalward.printable import printable
from evalward.sandbox import choose_shape, denial_of, evaluate
from evalward.utf16 import utf16_offset

if TYPE_CHECKING:
    from evalward.playground.question import Question
    from evalward.policy import Policy
    from evalward.sandbox import Evaluation

_READABLE: Final = ("h_", "h1_", "h2_")
_ORACLE: Final = threading.Lock()
"""One payload at a time runs among the traps: each run starts engines."""
_USUAL: Final = Shape.SCRIPT
"""The shape of a program, if neither sink nor shape is given."""


def hardened_view(question: Question, start: Policy) -> dict[str, Any]:
    """Return the program for people (``readable``, without the run-time) and as emitted; raise CodedError."""
    frame, code = question.frame(), question.payload
    rules = question.policy_in_force(start).rules_for(frame.target, bindings=frame.bindings)
    shape = frame.shape if frame.shape or frame.sink else _USUAL
    made = {
        prefix: harden_payload(
            code, target=frame.target, shape=shape, sink=frame.sink, prefix=prefix, bindings=rules.bindings
        )
        for prefix in (_short_prefix(code), new_prefix())
    }
    (prefix, readable), (_, emitted) = made.items()
    if isinstance(readable, NotHardenable) or isinstance(emitted, NotHardenable):
        refused = readable if isinstance(readable, NotHardenable) else emitted
        return {"made": False, **_refusal(refused, code)}
    return {
        "made": True,
        "prefix": prefix,
        "shape": str(readable.shape),
        "runtime": readable.runtime,
        "bytes": len(emitted.text),
        "readable": readable.body.decode("ascii"),
        "emitted": emitted.body.decode("ascii"),
    }


def _refusal(refused: object, code: bytes) -> dict[str, Any]:
    if not isinstance(refused, NotHardenable):
        return {"reason": ""}
    span = None
    if refused.end > refused.start:
        span = [utf16_offset(code, refused.start), utf16_offset(code, refused.end)]
    return {"reason": printable(refused.reason), "construct": refused.construct, "span": span}


def _short_prefix(code: bytes) -> str:
    return next((each for each in _READABLE if each.encode() not in code), new_prefix())


def sandbox_view(question: Question, start: Policy) -> dict[str, Any]:
    """Judge for the sandbox and, if it is allowed, run it there, hardened where that is possible; raise CodedError."""
    policy, code = question.policy_in_force(start).allowing([Target.SANDBOX]), question.payload
    shape = question.shape if question.shape not in {None, Shape.MODULE} else choose_shape(code)
    verdict = judge_under(
        policy,
        code,
        target=Target.SANDBOX,
        shape=shape,
        judge=judge_repaired,
        judge_hardened=judge_hardened,
        harden=Hardening.REQUIRED,
    )
    about = printable(verdict.construct or verdict.keyword or "")
    if not verdict.allowed and verdict.hardened is None:
        return {"ran": False, "code": str(verdict.code), "about": about, "shape": str(shape)}
    program = code if verdict.hardened is None else verdict.hardened.text
    return {"ran": True, "shape": str(shape), **_outcome(denial_of(evaluate(program, shape=shape)))}


def _outcome(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "code": evaluation.code and str(evaluation.code),
        "about": evaluation.construct,
        "result": None if evaluation.result is None else evaluation.result.decode(),
        "thrown": evaluation.error_name and printable(f"{evaluation.error_name}: {evaluation.message}"),
        "message": printable(evaluation.message or ""),
        "fuel": evaluation.fuel,
        "memory": evaluation.memory,
        "console": [{"level": line.level, "text": printable(line.text)} for line in evaluation.console],
        "console_dropped": evaluation.console_dropped,
    }


def oracle_view(question: Question) -> dict[str, Any]:
    """Run the payload in every engine of its target, among traps, and return what it reaches."""
    frame = question.frame()
    with _ORACLE:
        report = reached(question.code, frame.target, frame.shape, bindings=frame.bindings)
    found = report.to_json()
    for run in found["runs"]:
        run["note"] = printable(run["note"])
        run["hits"] = [{name: printable(text) for name, text in hit.items()} for hit in run["hits"]]
    return found
