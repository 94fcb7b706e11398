"""What the guard answers: a verdict, and the findings that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.rules import Enforcement

if TYPE_CHECKING:
    from evalward.errors.registry import Code
    from evalward.guard.target import Profile, Shape, Target


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the payload. Lines and columns count from 1, columns in code points, offsets in UTF-8 bytes."""

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of how a value got from its source to its use; ``note`` never repeats payload text."""

    note: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A construct (a label of the catalogue), where it is used and how it got there."""

    construct: str
    location: Location | None = None
    trace: tuple[TraceStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allow, or deny with a registered code.

    ``allowed`` is true if and only if ``code`` is None. ``construct`` is set for EVAL_BLOCKED_CONSTRUCT,
    ``keyword`` (the keyword's id) for EVAL_BLOCKED_KEYWORD, ``limit`` (name, allowed, actual) for
    EVAL_PAYLOAD_TOO_LARGE and EVAL_ANALYSIS_LIMIT. ``shadow`` holds what policy only audits.
    ``enforcement`` is what policy said of this payload; under ``audit`` a denial that policy lets pass is kept in
    ``withheld``, and ``exception_id`` names the exception that let the payload through. ``details`` are more of the
    envelope's details, by name; a verdict is shared by all who ask the same, so that nothing in it can change.
    ``code_hash`` is the lower-case hex SHA-256 of the payload bytes, ``code_length`` their number.
    """

    code: Code | None
    target: Target | None
    shape: Shape | None
    profile: Profile
    code_hash: str
    code_length: int
    construct: str | None = None
    keyword: str | None = None
    location: Location | None = None
    findings: tuple[Finding, ...] = ()
    shadow: tuple[Finding, ...] = ()
    limit: tuple[str, int, int | None] | None = None
    message: str = ""
    details: tuple[tuple[str, str], ...] = ()
    enforcement: Enforcement = Enforcement.ENFORCE
    withheld: Verdict | None = None
    exception_id: str | None = None

    @property
    def allowed(self) -> bool:
        """Whether the payload may run."""
        return self.code is None
