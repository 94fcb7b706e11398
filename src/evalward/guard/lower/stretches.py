"""Stretches of code in which something is known of a name: listed keys, allow lists, ``instanceof`` tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import Atom
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.values import string
from evalward.guard.lower.allow_lists import Check, Narrowing, checks_of, is_written_out, may_check
from evalward.guard.lower.enumeration import Listing
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.domain.scope import Reference
    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.instance_checks import Instance


class Stretches:
    """The stretches of one payload; ``listing`` and ``known_instances`` are those that the current code is in.

    ``callbacks`` are listings whose key is a parameter of a callback, by the offset at which the callback begins.
    """

    __slots__ = (
        "_build",
        "callbacks",
        "checks",
        "instances",
        "known_instances",
        "listing",
        "listings",
        "may_list",
        "narrowings",
    )

    def __init__(self, build: Builder) -> None:
        self._build = build
        self.may_list = b"keys" in build.source
        self.checks = may_check(build.source)
        self.listings: list[Listing] = []
        self.listing: list[Listing] = []
        self.narrowings: list[Narrowing] = []
        self.instances: list[Instance] = []
        self.known_instances: list[Instance] = []
        self.callbacks: dict[int, Listing] = {}

    def list_keys(self, subject: str, *, key: str = "", lister: str = "", index: int = -1) -> Listing:
        """Return a new stretch of code in which a name holds a key of what another name holds."""
        build = self._build
        made = Listing(build.reference(subject) if subject else None, build.unit, build.unit)
        made.key = build.reference(key) if key else None
        made.lister = build.reference(lister) if lister else None
        made.index, made.first = index, len(build.unit.code)
        self.listings.append(made)
        return made

    def checked(self, test: Node, begin: int, *, holds: bool) -> list[Narrowing]:
        """Begin the code behind a test that holds, or does not; ``begin`` is where the test's own code begins."""
        build = self._build
        found = checks_of(test, build.text, holds=holds) if self.checks else ()
        made = [
            Narrowing(build.unit, build.reference(build.name(check.key)), listed, begin, len(build.unit.code))
            for check in found
            if (listed := self._allow_list(check)) is not None
        ]
        self.narrowings.extend(made)
        return made

    def _allow_list(self, check: Check) -> Reference | int | None:
        build = self._build
        if check.listed.type == "identifier":
            return build.reference(build.name(check.listed))
        if not is_written_out(check.listed):
            return None
        texts = [literals.unescape(build.text(each)[1:-1]) for each in check.listed.named_children]
        known = [string(text) for text in texts if text is not None]
        return build.constant(frozenset[Atom]().union(*known)) if len(known) == len(texts) else None

    def end(self, stretches: list[Narrowing]) -> None:
        """End the stretches of code that begin with a check."""
        for each in stretches:
            each.last = len(self._build.unit.code)

    def read_constructor(self, target: int) -> None:
        """Note that the last instruction reads ``constructor`` of what a name may hold that was tested."""
        unit = self._build.unit
        loaded = unit.code[-2:-1]
        if loaded and loaded[0][0] is Op.LOAD and loaded[0][1] == target:
            for instance in self.known_instances:
                if instance.unit is unit:
                    instance.reads.append((len(unit.code) - 1, loaded[0][2]))
