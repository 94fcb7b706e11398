"""The guard's answer: a verdict and its findings."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from evalward.guard.rules import Enforcement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.codes import Code
    from evalward.guard.target import Profile, Shape, Target

KEYWORD_PREFIX = "keyword:"


@dataclass(frozen=True, slots=True)
class Location:
    """A span of the payload. Lines and columns count from 1, columns in code points, offsets in UTF-8 bytes."""

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a value from its source to its use; ``note`` never repeats payload text."""

    note: str
    location: Location | None = None


MAX_FINDINGS = 20
"""How many findings a verdict lists; ``findings_total`` counts the rest."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A use of a construct: its label, its location, and the steps that led there.

    A finding of the blocklist has the ``keyword``'s id and an empty construct.
    """

    construct: str
    location: Location | None = None
    trace: tuple[TraceStep, ...] = ()
    keyword: str | None = None

    @property
    def name(self) -> str:
        """The construct, or ``keyword:<id>``: what an exception names to let it pass."""
        return self.construct if self.keyword is None else f"{KEYWORD_PREFIX}{self.keyword}"


def listed(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return at most ``MAX_FINDINGS``: the first of each name, then the others, in the order of ``found``.

    So many occurrences of one name do not hide the others.
    """
    if len(found) <= MAX_FINDINGS:
        return tuple(found)
    firsts = {finding.name: number for number, finding in reversed([*enumerate(found)])}
    chosen = sorted(firsts.values())[:MAX_FINDINGS]
    left = MAX_FINDINGS - len(chosen)
    others = [number for number in range(len(found)) if number not in chosen][:left]
    return tuple(found[number] for number in sorted([*chosen, *others]))


@dataclass(frozen=True, slots=True)
class HardenedProgram:
    """A program to run instead of the payload (harden.md): ``text`` is ASCII, for the verdict's sink or shape.

    ``runtime`` is the version of the run-time inside it. ``prefix`` begins every name that the program binds, and is
    nowhere else in it.
    """

    text: bytes
    runtime: str
    prefix: str

    @property
    def sha256(self) -> str:
        """Lower-case hex SHA-256 of ``text``."""
        return sha256(self.text).hexdigest()


@dataclass(frozen=True, slots=True)
class Unhardened:
    """Why there is no program for a payload; ``reason`` never repeats payload text.

    ``failed``: the emitter failed, so that another attempt may succeed.
    """

    reason: str
    location: Location | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One of the edits after which a denied payload is allowed: the payload at ``location`` becomes ``text``.

    All edits of a verdict belong together, in order, and do not overlap. ``old`` is the text that it replaces, cut to
    a few words. Both repeat payload text, so that they go into replies and never into a log.
    """

    location: Location
    old: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Allow, or deny with a registered code.

    ``allowed`` is true if and only if ``code`` is None. ``construct`` is set for EVAL_BLOCKED_CONSTRUCT,
    ``keyword`` (the keyword's id) for EVAL_BLOCKED_KEYWORD, ``limit`` (name, allowed, actual) for
    EVAL_PAYLOAD_TOO_LARGE and EVAL_ANALYSIS_LIMIT. ``findings`` is everything that denies the payload, keywords
    first, at most ``MAX_FINDINGS`` of ``findings_total``. ``shadow`` holds what policy only audits.
    ``enforcement`` is the policy's mode for this payload. Under ``audit``, ``withheld`` holds the denial that was not
    enforced, and ``exception_id`` names the exception that allowed the payload. ``details`` are further details of the
    envelope, by name. ``sink`` is the id of the sink whose readings were judged, None if the request named none. A
    verdict is immutable, because the cache shares it.
    ``code_hash`` is the lower-case hex SHA-256 of the payload bytes, ``code_length`` their number. ``permits`` says
    that policy allows a construct that was found and that is blocked by default. ``hardened`` is the program of an
    allow, if one was asked for; ``unhardened`` says why there is none. ``rewrites`` are the edits of a denied payload
    that were judged and are allowed.
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
    sink: str | None = None
    findings_total: int = 0
    permits: bool = False
    hardened: HardenedProgram | None = None
    unhardened: Unhardened | None = None
    rewrites: tuple[Rewrite, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the payload may run."""
        return self.code is None
