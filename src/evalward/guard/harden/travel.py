"""Functions and texts that driver code sends to another realm: which are sent, and the program that goes instead.

``page.evaluate(fn)`` runs the text of ``fn`` in a page. So P' holds, besides the function, a program for that realm:
the hardened source of the function, with a run-time of its own. ``Sendings`` collects while the payload is read what
may be sent. It may find too much, since a program that is never sent does nothing; what it does not find is denied
when it is sent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import nested_evaluation
from evalward.guard.harden.function_tree import Function
from evalward.guard.harden.hosts import function_positions, text_positions
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.outcome import NotHardenable
from evalward.guard.harden.tree import (
    Binary,
    Chain,
    Conditional,
    Expression,
    Link,
    Name,
    Paren,
    Route,
    Sequence,
    Template,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evalward.guard.harden.scopes import Binding


_BODIES: Final = frozenset({"executeScript", "executeAsyncScript"})
_OF_MAIN: Final = frozenset({"evaluate", "evaluateHandle"})
# Ordinary arrays and strings have these too: only directly on a locator do they send what they are given.
_SHARED: Final = frozenset({"map", "filter"})
_LOCATORS: Final = frozenset({"locator", "asLocator"})
_FIRST_OPERANDS: Final = frozenset({"||", "??", "&&"})
_MOST_TEXTS: Final = 200
_MOST_BYTES: Final = 256 * 1024


@dataclass(slots=True)
class Sendings:
    """What a payload sends, and which functions its names and properties hold."""

    sent: list[tuple[frozenset[Route], Expression]] = field(default_factory=list)
    selected: list[Expression] = field(default_factory=list)
    named: list[tuple[Name | Binding, Function]] = field(default_factory=list)
    keyed: dict[str, list[Function]] = field(default_factory=lambda: defaultdict(list))
    calls: list[tuple[Name, list[Expression]]] = field(default_factory=list)

    def note(self, chain: Chain) -> None:
        """Note the calls of a chain."""
        links = chain.links
        first = links[0]
        if first.arguments is not None and isinstance(chain.base, Name):
            self.calls.append((chain.base, first.arguments))
        for index, link in enumerate(links[1:], 1):
            if link.arguments:
                self._method(_key(links[index - 1]), links[: index - 1], link.arguments)

    def _method(self, name: str | None, before: list[Link], given: list[Expression]) -> None:
        position = None if name is None else text_positions().get(name)
        if name is not None and (at := function_positions().get(name, len(given))) < len(given):
            self.selected.append(given[at])
        if name is None or position is None or position >= len(given):
            return
        if name in _SHARED and not any(_key(link) in _LOCATORS for link in before):
            return
        routes = {Route.BODY} if name in _BODIES else {Route.PAGE}
        if name in _OF_MAIN:
            routes.add(Route.MAIN)
        self.sent.append((frozenset(routes), given[position]))

    def resolve(self, routes: Iterable[Route]) -> None:
        """Mark the functions and constant texts that are sent on one of ``routes``; names are resolved."""
        taken = frozenset(routes)
        values = self._values()
        pending = [
            (way & taken, value, Function | Text | Template) for way, value in self.sent if way & taken
        ]
        if Route.PAGE in taken:  # a text is a selector there
            pending += [(frozenset({Route.PAGE}), value, Function) for value in self.selected]
        done: set[tuple[int, frozenset[Route], object]] = set()
        while pending:
            way, value, kinds = pending.pop()
            if (id(value), way, kinds) in done:
                continue
            done.add((id(value), way, kinds))
            if isinstance(value, kinds):
                value.routes |= way
            elif isinstance(value, Name):
                pending += [(way, each, kinds) for each in values[_identity(value)]]
            else:
                pending += [(way, part, kinds) for part in self._parts(value)]

    def _values(self) -> dict[int | str, list[Expression]]:
        """Return for each name what it may hold: functions, and what calls give to a parameter."""
        found: dict[int | str, list[Expression]] = defaultdict(list)
        functions: dict[int | str, list[Function]] = defaultdict(list)
        for name, function in self.named:
            functions[_identity(name)].append(function)
            found[_identity(name)].append(function)
        for base, given in self.calls:
            for function in functions.get(_identity(base), ()):
                for element, value in zip(function.parameters, given, strict=False):
                    if isinstance(element.target, Name):
                        found[_identity(element.target)].append(value)
        return found

    def _parts(self, value: Expression) -> list[Expression]:
        """Return what the value of an expression may be."""
        if isinstance(value, Paren):
            return [value.inner]
        if isinstance(value, Sequence):
            return [value.expressions[-1]]
        if isinstance(value, Conditional):
            return [*(consequence for _, consequence in value.arms), value.otherwise]
        if isinstance(value, Binary) and all(operator in _FIRST_OPERANDS for operator, _ in value.rest):
            return [value.first, *(operand for _, operand in value.rest)]
        if isinstance(value, Chain) and (name := _key(value.links[-1])) is not None:
            return [*self.keyed.get(name, ())]
        return []


def _key(link: Link) -> str | None:
    """Return the name of the member that a link reads, None if it is not constant."""
    return link.index.value if isinstance(link.index, Text) else link.name


def _identity(name: Name | Binding) -> int | str:
    """Return what the occurrences of one variable have in common; a global variable has its name."""
    binding = name.binding if isinstance(name, Name) else name
    return name.name if binding is None or binding.is_global else id(binding)


@dataclass(frozen=True, slots=True)
class Sent:
    """A function's source, or a text, that is sent on a route."""

    source: str
    route: Route
    is_text: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A program to send; ``shared`` are the long parts that it has in common with others, in their order."""

    text: str
    shared: tuple[str, ...]


class Programs:
    """The programs that go instead of functions and texts, as JavaScript expressions in P'.

    ``harden`` returns the program for a source on a route; the number is no other
    program's. What programs share is a constant of P', printed once.
    """

    def __init__(
        self,
        payload: str,
        routes: frozenset[Route],
        harden: Callable[[Sent, int], Program | NotHardenable],
    ) -> None:
        self.routes = routes
        self._units = payload.encode("utf-16-le", "surrogatepass")
        self._harden = harden
        self._made: dict[Sent, str] = {}
        self._left = max(_MOST_BYTES, 4 * len(payload))
        self.constants: dict[str, str] = {}

    def of_function(self, start: int, end: int, routes: Iterable[Route], fresh: Callable[[], str]) -> str:
        """Return the object that has the program for each route; positions are UTF-16 units of the payload."""
        return self._object(self._units[2 * start : 2 * end].decode("utf-16-le"), routes, fresh)

    def of_text(self, text: str, routes: Iterable[Route], fresh: Callable[[], str]) -> str:
        """Return the object that has the program for each route."""
        return self._object(text, routes, fresh, is_text=True)

    def _object(
        self, source: str, routes: Iterable[Route], fresh: Callable[[], str], *, is_text: bool = False
    ) -> str:
        pairs = []
        for route in sorted(routes):
            asked = Sent(source, route, is_text)
            if asked not in self._made:
                self._made[asked] = self._program(asked, fresh)
            pairs.append(f"{route}:{self._made[asked]}")
        return f"{{__proto__:null,{','.join(pairs)}}}"

    def _program(self, asked: Sent, fresh: Callable[[], str]) -> str:
        self._left -= len(asked.source)
        if self._left < 0 or len(self._made) >= _MOST_TEXTS:
            return _refusal(nested_evaluation.LABEL, "the payload sends too much code to pages")
        made = self._harden(asked, len(self._made))
        if isinstance(made, NotHardenable):
            reason = f"what is sent cannot be hardened. {made.reason}"
            return _refusal(made.construct or nested_evaluation.LABEL, reason)
        text, shared = made.text, made.shared
        operands = []
        for part in shared:  # in their order in the text, each of them once
            before, _, text = text.partition(part)
            if part not in self.constants:
                self.constants[part] = fresh()
            operands += [string_text(before), self.constants[part]]
        return "+".join([*operands, string_text(text)])


def _refusal(construct: str, reason: str) -> str:
    return f"[{string_text(construct)},{string_text(reason)}]"
