"""Scopes: every occurrence of a name is resolved to a binding of the payload, or is free (ECMA-262 §9.1, §10.2.11).

The reader opens scopes, declares names and notes references while it reads. ``resolve`` joins them at the end, when
all declarations are known. Each binding is printed under a name of its own, so that no scope of P' has to be
the scope of P: only the sharing of bindings counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from evalward.guard.harden.outcome import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable


class Named(Protocol):
    """An occurrence of a name."""

    name: str
    start: int
    binding: Binding | None


@dataclass(slots=True, eq=False)
class Binding:
    """A variable of the payload and what is known of it.

    ``writes`` counts assignments and initialisers, ``made`` those among them whose value is a function that the
    payload makes there. ``uses`` counts all other occurrences, ``calls`` those that only call it. A parameter is
    ``mapped`` where an ``arguments`` object shares its value (ECMA-262 §10.4.4): code of the host that gets the object
    may write anything to it.
    """

    name: str
    printed: str
    kind: str
    writes: int = 0
    made: int = 0
    uses: int = 0
    calls: int = 0
    is_global: bool = False
    mapped: bool = False

    @property
    def own(self) -> bool:
        """Whether the value, if there is one, is a function of the payload."""
        return self.made > 0 and self.made == self.writes and not self.mapped


class Access(Enum):
    """How an occurrence of a name uses it; MAKE writes a function that the payload makes there."""

    READ = 0
    CALL = 1
    WRITE = 2
    MAKE = 3


class Level(Enum):
    """What a scope belongs to."""

    TOP = 0
    FUNCTION = 1  # the parameters, and the body where they are simple
    ARROW = 2
    BODY = 3  # the body of a function whose parameters are not simple
    BLOCK = 4
    CATCH = 5  # a catch clause whose parameter is one name
    FIELD = 6  # the value of a field, or a static block
    STATIC = 7


_VARIABLES = frozenset({Level.TOP, Level.FUNCTION, Level.ARROW, Level.BODY, Level.STATIC})
_LEXICAL = frozenset({"let", "const", "class", "block function"})


@dataclass(slots=True, eq=False)
class Scope:
    """One scope; ``parameters`` are the names of a function's parameters."""

    parent: Scope | None
    level: Level
    names: dict[str, Binding] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    arguments: Binding | None = None
    variables: list[tuple[Binding, Binding | None]] = field(default_factory=list)


class Scopes:
    """The scopes of one program, and the names that it prints."""

    __slots__ = ("_block_functions", "_count", "_references", "current", "globals", "prefix", "sharing")

    def __init__(self, prefix: str, *, sharing: bool) -> None:
        """``sharing`` says that the variables of the top level are properties of the global object."""
        self.prefix = prefix
        self.sharing = sharing
        self.current = Scope(None, Level.TOP)
        self.globals: list[str] = []
        self._count = 0
        self._references: list[tuple[Named, Scope, Access]] = []
        self._block_functions: list[tuple[Named, Scope, Callable[[], None]]] = []

    def fresh(self) -> str:
        """Return a name that nothing else has."""
        self._count += 1
        return f"{self.prefix}{self._count}"

    def open(self, level: Level) -> Scope:
        """Open a scope in the current one."""
        scope = self.current = Scope(self.current, level)
        return scope

    def close(self, scope: Scope) -> None:
        """Close ``scope`` and what is open inside it."""
        if scope.parent is None:
            raise RuntimeError("the top level is never closed")
        self.current = scope.parent

    def declare(self, name: str, kind: str) -> Binding:
        """Declare a name in the current scope."""
        found = self.current.names.get(name)
        if found is None:
            found = self.current.names[name] = Binding(name, self.fresh(), kind)
        return found

    def variable_scope(self) -> Scope:
        """Return the scope of the ``var`` declarations here."""
        scope = self.current
        while scope.level not in _VARIABLES:
            if scope.parent is None:
                break
            scope = scope.parent
        return scope

    def declare_variable(self, name: str, kind: str = "var") -> Binding:
        """Declare a ``var`` or a function at the top level of a function or program."""
        return self._variable(self.variable_scope(), name, kind)

    def _variable(self, scope: Scope, name: str, kind: str) -> Binding:
        found = scope.names.get(name)
        if found is not None:
            return found
        found = scope.names[name] = Binding(name, self.fresh(), kind)
        if self.sharing and scope.level is Level.TOP and name not in DENIED_NAMES:
            found.is_global = True
            if kind == "var":
                self.globals.append(name)
            return found
        # Where parameters have a scope of their own, a variable begins with the value of its namesake (§10.2.11, 28).
        begins = None
        if scope.level is Level.BODY and scope.parent is not None:
            begins = scope.parent.names.get(name)
            if begins is None and name == "arguments" and scope.parent.level is Level.FUNCTION:
                begins = self._arguments(scope.parent)
        elif name == "arguments" and scope.level is Level.FUNCTION and kind == "var":
            scope.arguments = found
            return found
        if kind == "var":
            scope.variables.append((found, begins))
        return found

    def refer(self, node: Named, access: Access) -> None:
        """Note an occurrence of a name in the current scope."""
        self._references.append((node, self.current, access))

    def block_function(self, variable: Named, accept: Callable[[], None]) -> None:
        """Note a function declaration in a block of sloppy code (Annex B.3.3).

        If the function is to be the value of a variable, too, ``variable`` is resolved to it and ``accept`` called.
        """
        self._block_functions.append((variable, self.current, accept))

    def resolve(self) -> None:
        """Resolve every reference; raise RefusedError for ``arguments`` where there are none."""
        for variable, scope, accept in self._block_functions:
            target = self._hoisted(variable.name, scope)
            if target is not None:
                found = self._variable(target, variable.name, "var")
                found.writes += 1
                found.made += 1
                variable.binding = None if found.is_global else found
                accept()
        for node, scope, access in self._references:
            binding = node.binding = self.lookup(node.name, scope, node.start)
            if binding is None:
                continue
            if access is Access.READ:
                binding.uses += 1
            elif access is Access.CALL:
                binding.calls += 1
            else:
                binding.writes += 1
                if access is Access.MAKE:
                    binding.made += 1

    def lookup(self, name: str, scope: Scope, start: int) -> Binding | None:
        """Return the binding of ``name`` in ``scope``, None when it is free or a property of the global object."""
        current: Scope | None = scope
        is_arguments = name == "arguments"
        while current is not None:
            found = current.names.get(name)
            if found is not None:
                return None if found.is_global else found
            if is_arguments:
                if current.level is Level.FUNCTION:
                    return self._arguments(current)
                if current.level in (Level.FIELD, Level.STATIC):
                    raise RefusedError("arguments outside of a function", kind="identifier", start=start)
            current = current.parent
        return None

    def _arguments(self, scope: Scope) -> Binding:
        if scope.arguments is None:
            scope.arguments = Binding("arguments", self.fresh(), "var", writes=1)
        return scope.arguments

    def _hoisted(self, name: str, scope: Scope) -> Scope | None:
        """Return the scope in which Annex B.3.3 makes a variable of a block's function, None where it makes none."""
        outer = scope.parent
        while outer is not None:
            found = outer.names.get(name)
            if outer.level in _VARIABLES:
                if name in outer.parameters or (found is not None and found.kind in _LEXICAL):
                    return None
                if outer.level is Level.BODY and outer.parent is not None and name in outer.parent.parameters:
                    return None
                return outer
            # As in V8, another function of a block is no conflict.
            if found is not None and outer.level is not Level.CATCH and found.kind != "block function":
                return None
            outer = outer.parent
        return None


DENIED_NAMES = frozenset(
    {"require", "module", "exports", "__filename", "__dirname", "arguments", "__proto__", "__pwClock"}
)
"""Free names that P' never prints: what a CommonJS function has, the arguments of a function around P', an accessor,
and the clock that Playwright installs in a page, whose timers may be texts."""
