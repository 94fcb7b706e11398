"""Findings of a run: uses with the trace to each, and writes that are judged at the end of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import process_member
from evalward.guard.domain.uses import Step, Use

if TYPE_CHECKING:
    from evalward.guard.constructs.rank import Rank
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span


class Findings:
    """Uses, and places in the wrapped source as pairs of offsets.

    ``polluted`` are writes through what an outside key selects, ``selecting`` the reads that select it, ``checked``
    those of them whose key turns out to be checked. ``clicked`` are the items of an application's menu, ``named`` the
    elements whose name comes from outside. ``uncalled``: what runs now is called by nothing. ``key_checks`` says
    where the payload checks a key, and which argument that is, counted from the last one. ``outside`` says that a
    built-in function was called outside the conditions of its model. ``unresolved`` are the sinks that were given an
    unknown text, by their kind.
    """

    def __init__(self) -> None:
        self.uses: dict[tuple[str, int, Span], Use] = {}
        self.origins: dict[Atom, tuple[Step, ...]] = {}
        self.polluted: list[Span] = []
        self.selecting: set[Span] = set()
        self.checked: frozenset[Span] = frozenset()
        self.clicked: set[Span] = set()
        self.uncalled = False
        self.named: set[Span] = set()
        self.key_checks: dict[Span, int] = {}
        self.outside = False
        self.unresolved: set[tuple[str, Span]] = set()

    def miss(self, kind: str, span: Span) -> None:
        """Note a sink that is given an unknown text."""
        self.unresolved.add((kind, span))

    def name_element(self, span: Span) -> None:
        """Note an element whose name comes from outside."""
        self.named.add(span)

    def click(self, span: Span) -> None:
        """Note a handler of an item of an application's menu."""
        self.clicked.add(span)

    def origin(self, atom: Atom, parent: Atom | None, note: str, span: Span) -> None:
        """Record where an atom first occurs."""
        if atom not in self.origins:
            before = self.origins.get(parent, ()) if parent is not None else ()
            self.origins[atom] = (*before, Step(_encodable(note), span))[-8:]

    def report(
        self, construct: str, rank: Rank, span: Span, atom: Atom | None = None, note: str = ""
    ) -> None:
        """Record a use."""
        if construct.startswith("process.") and construct[8:] not in process_member.CAPABILITIES:
            rank = rank.lowered()  # a name that a loop composes passes through partial names
        key = (construct, rank, span)
        trace = self.origins.get(atom, ()) if atom is not None else ()
        if note:
            trace = (*trace, Step(_encodable(note), span))
        known = self.uses.get(key)
        # Several traces may lead to one use. The longest is kept: the result must not depend on the order of a set.
        if known is None or (-len(trace), _notes(trace)) < (-len(known.trace), _notes(known.trace)):
            self.uses[key] = Use(construct, rank, span, trace)


def _encodable(note: str) -> str:
    """Return ``note`` with lone surrogates as escapes: a name of the payload may have some, and no reply can."""
    return note if note.isascii() else note.encode("utf-8", "backslashreplace").decode()


def _notes(trace: tuple[Step, ...]) -> list[tuple[int, str]]:
    return [(step.span.start, step.note) for step in trace]
