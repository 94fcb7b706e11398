"""The tree that the emitter prints: what a payload means, without its spelling (names as in ESTree).

``reader`` makes it from nodes of tree-sitter, each touched once. Left-recursive chains are lists: they do not nest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalward.guard.harden.scopes import Binding


class Route(StrEnum):
    """How a text reaches another realm, which evaluates it."""

    PAGE = "page"  # `evaluate` and its kin of a page: an expression, called if it is a function
    BODY = "body"  # Selenium's `executeScript`: the body of a function; a function is called
    MAIN = "main"  # `evaluate` of an Electron application: as in a page, in the main process


class Expression:
    """Base of all expressions."""

    __slots__ = ()


class Statement:
    """Base of all statements."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class PrivateName:
    """A private name of a class: as it is printed, and whether it is a method."""

    printed: str
    method: bool


@dataclass(slots=True, eq=False)
class PrivateUse:
    """An occurrence of a private name; ``target`` is set when the class that declares it ends."""

    name: str
    start: int
    target: PrivateName | None = None


@dataclass(slots=True, eq=False)
class Name(Expression):
    """An identifier; ``binding`` is None when it is free."""

    name: str
    start: int
    binding: Binding | None = None


@dataclass(slots=True, eq=False)
class Literal(Expression):
    """A literal with its text in P'."""

    text: str


@dataclass(slots=True, eq=False)
class Text(Expression):
    """A string; ``routes`` are the ways on which it may be sent to another realm."""

    value: str
    routes: frozenset[Route] = frozenset()


@dataclass(slots=True, eq=False)
class Regex(Expression):
    """A regular expression, with its text in P'; ``parts`` are pattern and flags where its text in P is another."""

    text: str
    parts: tuple[str, str] | None = None


@dataclass(slots=True, eq=False)
class Template(Expression):
    """A template: the cooked chunks (None where an escape is invalid), the raw ones, and what is between them."""

    cooked: list[str | None]
    raw: list[str]
    expressions: list[Expression]
    routes: frozenset[Route] = frozenset()


@dataclass(slots=True, eq=False)
class Spread(Expression):
    """``...argument`` in a call, an array or an object."""

    argument: Expression


@dataclass(slots=True, eq=False)
class Array(Expression):
    """An array literal; None is a hole."""

    elements: list[Expression | None]


@dataclass(slots=True, eq=False)
class Key:
    """A property's name: a string, a computed expression or a private name."""

    value: str | None = None
    computed: Expression | None = None
    private: PrivateUse | None = None


@dataclass(slots=True, eq=False)
class Property:
    """``key: value`` in an object literal; a spread has no key; a method or accessor has a function."""

    key: Key | None
    value: Expression
    shorthand: bool = False
    method: bool = False


@dataclass(slots=True, eq=False)
class Object(Expression):
    """An object literal; ``home`` binds the literal itself where a method writes to ``super``."""

    properties: list[Property]
    home: Home


@dataclass(slots=True, eq=False)
class Home:
    """A class or object literal whose methods may write to ``super``; ``binding`` is set when one does."""

    is_class: bool
    binding: Binding | None = None


@dataclass(slots=True, eq=False)
class This(Expression):
    """The word ``this``; ``strict`` says whether it may be a primitive."""

    strict: bool


@dataclass(slots=True, eq=False)
class Super(Expression):
    """``super``, the base of a chain; ``static`` says that it is the parent of the class itself."""

    home: Home | None
    static: bool
    strict: bool
    start: int


@dataclass(slots=True, eq=False)
class NewTarget(Expression):
    """``new.target``."""


@dataclass(slots=True, eq=False)
class Link:
    """One step of a chain, with ``?.`` before it or not.

    Exactly one is set: ``name``, ``index``, ``private``, ``arguments`` (a call), ``quasi`` (a tag).
    """

    optional: bool = False
    name: str | None = None
    index: Expression | None = None
    private: PrivateUse | None = None
    arguments: list[Expression] | None = None
    quasi: Template | None = None


@dataclass(slots=True, eq=False)
class Chain(Expression):
    """Member reads, calls and tags that follow one another from ``base``."""

    base: Expression
    links: list[Link]


@dataclass(slots=True, eq=False)
class New(Expression):
    """``new callee(arguments)``."""

    callee: Expression
    arguments: list[Expression]


@dataclass(slots=True, eq=False)
class Unary(Expression):
    """A unary operator: ``! ~ - + typeof void delete``."""

    operator: str
    operand: Expression
    strict: bool


@dataclass(slots=True, eq=False)
class Update(Expression):
    """``++`` or ``--``."""

    operator: str
    prefix: bool
    target: Expression
    strict: bool


@dataclass(slots=True, eq=False)
class Binary(Expression):
    """Binary or logical operators of one precedence, left-associative unless ``**`` (then there is one)."""

    first: Expression
    rest: list[tuple[str, Expression]]


@dataclass(slots=True, eq=False)
class PrivateIn(Expression):
    """``#name in right``."""

    name: PrivateUse
    right: Expression


@dataclass(slots=True, eq=False)
class Conditional(Expression):
    """``a ? b : c ? d : e``: the arms in order and the last alternative."""

    arms: list[tuple[Expression, Expression]]
    otherwise: Expression


@dataclass(slots=True, eq=False)
class Assign(Expression):
    """An assignment; ``operator`` is ``=`` or a compound one."""

    operator: str
    target: Expression
    value: Expression
    strict: bool


@dataclass(slots=True, eq=False)
class Sequence(Expression):
    """``a, b``."""

    expressions: list[Expression]


@dataclass(slots=True, eq=False)
class Await(Expression):
    """``await operand``."""

    operand: Expression


@dataclass(slots=True, eq=False)
class Yield(Expression):
    """``yield operand`` or ``yield* operand``."""

    operand: Expression | None
    delegate: bool


@dataclass(slots=True, eq=False)
class Paren(Expression):
    """An expression in parentheses, which end an optional chain and unmake a directive."""

    inner: Expression


@dataclass(slots=True, eq=False)
class Element:
    """A target of a pattern, with its default."""

    target: Expression
    default: Expression | None = None


@dataclass(slots=True, eq=False)
class ArrayPattern(Expression):
    """``[a, , b = 1, ...c]``."""

    elements: list[Element | None]
    rest: Expression | None


@dataclass(slots=True, eq=False)
class ObjectPattern(Expression):
    """``{a, [k]: b = 1, ...c}``."""

    properties: list[tuple[Key, Element]]
    rest: Expression | None
