"""What the reply to ValidateCall says of one judged field."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import program_json
from evalward.policy import without_program
from evalward.tools.kinds import FieldKind

if TYPE_CHECKING:
    from evalward.guard.target import Shape
    from evalward.guard.verdict import HardenedProgram, Verdict
    from evalward.tools import CallField


class JudgedField(NamedTuple):
    """A judged field: its JSON Pointer, the SHA-256 of its UTF-8 bytes, its kind, sink or shape, and its program."""

    path: str
    sha256: str
    kind: str
    sink: str = ""
    shape: Shape | None = None
    program: HardenedProgram | None = None

    def as_json(self) -> dict[str, object]:
        """Return the entry of the envelope."""
        body: dict[str, object] = {"path": self.path, "sha256": self.sha256, "kind": self.kind}
        if self.program is not None:
            body["hardened"] = program_json(self.program)
        return body


def judged_field(found: CallField, verdict: Verdict | None) -> JudgedField | None:
    """Return what the reply says of a field; None for a number, which has several spellings."""
    if not found.is_text:
        return None
    digest = hashlib.sha256(found.code).hexdigest()
    judged = JudgedField(found.path, digest, found.kind.value)
    if verdict is None:
        return judged
    program = verdict.hardened if found.kind is FieldKind.SOURCE else None
    return judged._replace(sink=verdict.sink or "", shape=verdict.shape, program=program)


def replaceable(found: CallField, verdict: Verdict, *, takes_programs: bool = True) -> Verdict:
    """Return ``verdict``; a denial where a program is required for a text that none can replace, such as a URL.

    A caller that does not take programs cannot replace any text.
    """
    if verdict.hardened is None:
        return verdict
    if not takes_programs:
        return without_program(verdict, "the caller cannot replace the code")
    if found.kind is FieldKind.SOURCE and found.is_text:
        return verdict
    return without_program(verdict, "the field cannot hold a program")
