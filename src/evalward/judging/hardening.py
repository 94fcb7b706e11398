"""The hardened program of an allow: where the pure emitter gets its random prefix (docs/design/harden.md §2).

The emitter prints the same text for two prefixes except for the prefix itself, and refuses one that the payload
contains. So a program is emitted once, under a prefix that never leaves the service, and each decision gets its own
copy under a prefix of its own: a cached verdict costs no second emission, and no two decisions share a program.
"""

from __future__ import annotations

import re
import secrets
import string
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalward.guard.verdict import HardenedProgram, Unhardened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.rules import Rules
    from evalward.guard.syntax.program import ParsedProgram
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict

MAX_PROGRAM_BYTES: Final = 4 * 1024 * 1024
"""The largest program: a client takes a reply of 16 MiB."""
PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{11}")
RUNTIME_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}")
"""The version of a run-time, as records and envelopes may carry it."""
UNDECLARED: Final = Unhardened("neither a shape nor a sink is declared")
"""Why there is no program in the usual case, which has a short form between processes."""
_LETTERS: Final = string.ascii_letters
_NAME: Final = string.ascii_letters + string.digits
_NAME_LENGTH: Final = 11
_TEXT_LENGTH: Final = 200


def new_prefix() -> str:
    """Return a random prefix of names: a letter and 11 letters or digits, 71 bits."""
    return secrets.choice(_LETTERS) + "".join(secrets.choice(_NAME) for _ in range(_NAME_LENGTH))


def judge_hardened(
    payload: bytes, *, target: Target, shape: Shape | None, rules: Rules, sink: str | None = None
) -> Verdict:
    """Judge as ``evalward.guard.judge`` does; a denial has its rewrite, if there is one.

    An allow has a program, or the reason why there is none.
    """
    from evalward.guard.repair import judge_repaired  # noqa: PLC0415 - the front process needs no guard

    readings: list[ParsedProgram] = []
    verdict = judge_repaired(payload, target=target, shape=shape, rules=rules, sink=sink, readings=readings)
    return with_program(verdict, payload, rules, readings)


def with_program(
    verdict: Verdict, payload: bytes, rules: Rules, readings: Sequence[ParsedProgram] = ()
) -> Verdict:
    """Return ``verdict`` on ``payload`` with the program to run instead, or with the reason why there is none.

    ``readings`` are what the guard has parsed meanwhile. A denial is returned as it is. Never raises: a failure of the
    emitter is a reason, too.
    """
    if not verdict.allowed or verdict.target is None:
        return verdict
    if verdict.shape is None and verdict.sink is None:
        return replace(verdict, unhardened=UNDECLARED)
    try:
        made = _emitted(verdict, payload, rules, readings)
    except Exception as failure:  # noqa: BLE001 - no program is made; the verdict still holds
        # Type and location, but not the text, which may contain payload.
        frame = traceback.extract_tb(failure.__traceback__)[-1]
        place = f"{type(failure).__name__} at {Path(frame.filename).name}:{frame.lineno}"
        made = Unhardened(f"the emitter failed: {place}", failed=True)
    if isinstance(made, Unhardened):
        return replace(verdict, unhardened=made)
    return replace(verdict, hardened=made)


def _emitted(
    verdict: Verdict, payload: bytes, rules: Rules, readings: Sequence[ParsedProgram]
) -> HardenedProgram | Unhardened:
    from evalward.guard.harden import Hardened, harden_payload  # noqa: PLC0415 - the front process needs no emitter
    from evalward.guard.syntax.locate import locate  # noqa: PLC0415 - the same

    if verdict.target is None:
        return Unhardened("no target is declared")
    prefix = new_prefix()
    made = harden_payload(
        payload,
        target=verdict.target,
        shape=verdict.shape,
        sink=verdict.sink,
        prefix=prefix,
        bindings=rules.bindings,
        env_names=rules.env_names,
        process_reads=rules.process_reads,
        readings=readings,
    )
    if isinstance(made, Hardened):
        if len(made.text) > MAX_PROGRAM_BYTES:
            return Unhardened(f"the program is larger than {MAX_PROGRAM_BYTES} bytes")
        return checked(HardenedProgram(made.text, made.runtime, prefix))
    place = locate(payload, made.start, made.end) if made.end > made.start else None
    return Unhardened(made.reason[:_TEXT_LENGTH], place)


def checked(program: HardenedProgram) -> HardenedProgram:
    """Return ``program``; raise ValueError unless it is ASCII, of a permitted size and made with its prefix."""
    if PREFIX.fullmatch(program.prefix) is None or program.prefix.encode() not in program.text:
        raise ValueError("the program does not use its prefix")
    if RUNTIME_VERSION.fullmatch(program.runtime) is None:
        raise ValueError("the run-time's version is malformed")
    if not program.text.isascii() or len(program.text) > MAX_PROGRAM_BYTES:
        raise ValueError("the program is too large, or not ASCII")
    return program


def renewed(verdict: Verdict) -> Verdict:
    """Return ``verdict`` with its program, if it has one, under a new prefix."""
    program = verdict.hardened
    if program is None:
        return verdict
    prefix = new_prefix()
    while prefix.encode() in program.text:
        prefix = new_prefix()
    text = program.text.replace(program.prefix.encode(), prefix.encode())
    return replace(verdict, hardened=HardenedProgram(text, program.runtime, prefix))
