"""The functions, classes and blocks of the tree that the emitter prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalward.guard.harden.tree import Expression, Statement

if TYPE_CHECKING:
    from evalward.guard.harden.scopes import Binding, Scope
    from evalward.guard.harden.tree import Element, Home, Key, Name, Route


@dataclass(slots=True, eq=False)
class Function(Expression):
    """A function of any kind: ``function``, ``arrow``, ``method``, ``get``, ``set`` or ``constructor``.

    ``name`` is its own name, ``self`` the binding of a function expression's name, ``variables`` the bindings of its
    ``var`` declarations with the parameter that each begins with, ``scope`` knows whether it uses ``arguments``.
    ``routes`` are the ways on which its source may be sent to another realm.
    """

    kind: str
    asynchronous: bool
    generator: bool
    start: int
    end: int
    strict: bool = False
    directive: bool = False
    name: str | None = None
    self: Binding | None = None
    parameters: list[Element] = field(default_factory=list)
    rest: Expression | None = None
    simple: bool = True
    body: Block | None = None
    value: Expression | None = None
    variables: list[tuple[Binding, Binding | None]] = field(default_factory=list)
    scope: Scope | None = None
    derived: bool = False
    line: int = 0
    given: str | None = None
    routes: frozenset[Route] = frozenset()


@dataclass(slots=True, eq=False)
class Member:
    """A member of a class: a method, a field or a static block."""

    key: Key | None
    static: bool
    line: int
    function: Function | None = None
    value: Expression | None = None
    block: StaticBlock | None = None


@dataclass(slots=True, eq=False)
class StaticBlock:
    """A class's static block, with the bindings of its ``var`` declarations."""

    body: Block
    variables: list[tuple[Binding, Binding | None]]


@dataclass(slots=True, eq=False)
class Class(Expression):
    """A class; ``inner`` is the binding of its name inside it."""

    name: str | None
    heritage: Expression | None
    members: list[Member]
    inner: Binding | None
    home: Home
    start: int
    end: int
    given: str | None = None


@dataclass(slots=True, eq=False)
class Block(Statement):
    """Statements with their function declarations, which are registered first."""

    line: int
    statements: list[Statement]
    functions: list[FunctionDeclaration] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class FunctionDeclaration(Statement):
    """A function declaration; ``variable`` is the outer name that Annex B.3.3 gives a function in a block."""

    line: int
    function: Function
    binding: Binding
    variable: Name | None = None
    top: bool = False
