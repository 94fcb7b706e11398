"""How a run of P' ended, and whether it did what P does."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from evalward.oracle.hits import WEAK_OP, Engine

if TYPE_CHECKING:
    from evalward.oracle.hits import EngineRun, Hit

DENIAL: Final = "EvalwardDenied"
"""The name of the error that a run-time denial throws."""

_EXCERPT: Final = 160
_ENGINE_ERRORS: Final = frozenset(
    {"TypeError", "ReferenceError", "RangeError", "SyntaxError", "InternalError"}
)
_CALLBACK: Final = re.compile(r"\S+ argument\d+")
_STUB: Final = re.compile(r"<[^<>]+>|function (?:undefined|function)/1|function /0")
_KEPT_ERROR: Final = re.compile(rf'((?:{"|".join(sorted(_ENGINE_ERRORS))})(?:: |{{message~:"))([^"\\]*)')
_FRAMES: Final = re.compile(r'(?:\\n)?    at (?:[^"\\]|\\(?!n))*')
_BLOB: Final = re.compile(r"(?<=blob:)([^\s\"'<>]*/)[0-9a-f-]{36}")
_ENGINE_WORDING: Final = re.compile(
    r"not a function|not a constructor|not iterable|not an object|not defined|before initialization|not initialized"
    r"|Cannot (read|set|convert|destructure|assign|access|delete|redefine|create|define|add|mix)|cannot read property"
    r"|cannot (set|convert|delete|redefine)|no setter|read-only|only a getter|undefined or null|already been declared"
    r"|call stack|stack overflow|Class constructor|private (field|member|name|method)|instanceof|in operator|'in'"
    r"|[Ii]nvalid|null or undefined|incompatible receiver|must be called with|extends value|prototype|proxy"
    r"|Spread syntax"
)


class Outcome(StrEnum):
    """What a run of the P' of an escape came to, the worst first."""

    REACHED = "reached"
    ENDED = "ended"
    DENIED = "denied"
    REFUSED = "refused"


def strong(run: EngineRun) -> tuple[Hit, ...]:
    """Return the hits that prove something: all but those that only looked at a member."""
    return tuple(hit for hit in run.hits if hit.op != WEAK_OP)


def outcome_of(run: EngineRun) -> Outcome:
    """Return what a run of P' came to."""
    if strong(run):
        return Outcome.REACHED
    return Outcome.DENIED if is_denied(run) else Outcome.ENDED


def is_denied(run: EngineRun) -> bool:
    """Whether the run ended with a denial of the run-time."""
    return run.ending == "threw" and run.note.startswith(DENIAL)


def is_invalid(run: EngineRun) -> bool:
    """Whether the engine could not parse the text. QuickJS throws that as an error of the evaluation."""
    return run.ending == "syntax-error" or (
        run.engine is Engine.QUICKJS and run.ending == "threw" and run.note.startswith("SyntaxError")
    )


def difference(original: EngineRun, hardened: EngineRun) -> str | None:
    """Return what differs between a run of P and one of P', both observed, or None if they did the same.

    The names and messages of errors must agree, except for the wording of an engine's own errors: it quotes the
    source text, which is another one in P'.
    """
    if original.ending != hardened.ending:
        # The sandbox ends a run before the payload could see that its stack is full; P' may need less of it.
        if original.note == "stack_overflow":
            return None
        return f"ending {original.ending} {original.note} / {hardened.ending} {hardened.note}"
    # Of a page that is gone, or a run that was stopped, the note says where the harness noticed it.
    if original.ending not in {"left", "deadline"} and not _same_error(original.note, hardened.note):
        return f"error {original.note} / {hardened.note}"
    return _of_records(original, hardened)


def _of_records(original: EngineRun, hardened: EngineRun) -> str | None:
    if original.record == hardened.record:
        return None
    if not (original.record and hardened.record):
        return "no record of one of the runs"
    ours, theirs = json.loads(original.record), json.loads(hardened.record)
    for part in ours:
        # This engine runs a script as indirect eval, where the variables of strict code are local (ECMA-262 §19.2.1.3).
        if part == "globals" and not ours[part] and original.engine is Engine.QUICKJS:
            continue
        one, other = ours[part], theirs[part]
        one, other = (_page(one), _page(other)) if part == "page" else (_comparable(one), _comparable(other))
        if one != other:
            return f"{part} {excerpts(one, other)}"
    return None


def _same_error(one: str, other: str) -> bool:
    if one == other:
        return True
    (name, _, message), (other_name, _, other_message) = one.partition(": "), other.partition(": ")
    return (
        name == other_name
        and name in _ENGINE_ERRORS
        and bool(_ENGINE_WORDING.search(message))
        and bool(_ENGINE_WORDING.search(other_message))
    )


def _comparable(part: object) -> object:
    """Order the new globals by name: a declaration of P is not always made at the same moment in P'.

    A stub that stands for any value of the host is a function, so P' holds a wrapper of it. What callbacks do at the
    same time as the rest of a program has no order but among itself: an ``await`` may take P' another number of jobs.
    An error that the payload keeps has the engine's wording and the stack of P', as one that it throws.
    """
    if isinstance(part, str):
        return _plain(part)
    if not isinstance(part, list):
        return part
    lines = [_plain(str(line)) for line in part]
    if lines and " = " in lines[0]:
        return sorted(lines)
    return sorted(lines, key=_callback)


def _page(markup: str) -> str:
    """Return the markup of a page without the engine's own names of blobs, which are random."""
    return _BLOB.sub(r"\1blob", markup)


def _plain(shown: str) -> str:
    """Return what a run showed without what the engine says about the text that it runs."""
    return _STUB.sub("<host>", _KEPT_ERROR.sub(_unworded, _FRAMES.sub("", _page(shown))))


def _unworded(error: re.Match[str]) -> str:
    return f"{error[1]}<engine>" if _ENGINE_WORDING.search(error[2]) else error[0]


def _callback(effect: str) -> str:
    found = _CALLBACK.match(effect)
    return "" if found is None else found.group()


def excerpts(one: object, other: object) -> str:
    """Return both from shortly before the place where they begin to differ."""
    ours, theirs = (part if isinstance(part, str) else json.dumps(part) for part in (one, other))
    same = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), 0)
    start = max(0, same - _EXCERPT // 4)
    return f"{ours[start : start + _EXCERPT]} / {theirs[start : start + _EXCERPT]}"
