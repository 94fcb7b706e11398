"""The tree that the emitter prints: statements (names as in ESTree)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalward.guard.harden.tree import Statement

if TYPE_CHECKING:
    from evalward.guard.harden.function_tree import Block, Class, FunctionDeclaration
    from evalward.guard.harden.scopes import Binding
    from evalward.guard.harden.tree import Expression


@dataclass(slots=True, eq=False)
class ExpressionStatement(Statement):
    """An expression."""

    line: int
    expression: Expression


@dataclass(slots=True, eq=False)
class Declaration(Statement):
    """``var``, ``let``, ``const`` or ``using``."""

    line: int
    kind: str
    declarators: list[tuple[Expression, Expression | None]]


@dataclass(slots=True, eq=False)
class ClassDeclaration(Statement):
    """A class declaration."""

    line: int
    value: Class
    binding: Binding


@dataclass(slots=True, eq=False)
class Return(Statement):
    """``return``."""

    line: int
    value: Expression | None


@dataclass(slots=True, eq=False)
class If(Statement):
    """``if … else if … else``."""

    line: int
    arms: list[tuple[Expression, Statement]]
    otherwise: Statement | None


@dataclass(slots=True, eq=False)
class For(Statement):
    """``for (;;)``."""

    line: int
    initial: Declaration | Expression | None
    test: Expression | None
    update: Expression | None
    body: Statement


@dataclass(slots=True, eq=False)
class ForIn(Statement):
    """``for (… in …)``, ``for (… of …)`` and ``for await``; ``kind`` is empty when nothing is declared."""

    line: int
    of: bool
    awaits: bool
    kind: str
    target: Expression
    initial: Expression | None
    right: Expression
    body: Statement
    strict: bool


@dataclass(slots=True, eq=False)
class While(Statement):
    """``while``."""

    line: int
    test: Expression
    body: Statement


@dataclass(slots=True, eq=False)
class DoWhile(Statement):
    """``do … while``."""

    line: int
    body: Statement
    test: Expression


@dataclass(slots=True, eq=False)
class Jump(Statement):
    """``break`` and ``continue``; ``label`` is the printed label."""

    line: int
    word: str
    label: str | None


@dataclass(slots=True, eq=False)
class Throw(Statement):
    """``throw``."""

    line: int
    value: Expression


@dataclass(slots=True, eq=False)
class Try(Statement):
    """``try``; ``handler`` is None without a catch clause, ``parameter`` without its parameter."""

    line: int
    block: Block
    parameter: Expression | None
    handler: Block | None
    finalizer: Block | None


@dataclass(slots=True, eq=False)
class Case:
    """A case of a switch; the default has no test."""

    test: Expression | None
    statements: list[Statement]


@dataclass(slots=True, eq=False)
class Switch(Statement):
    """``switch``."""

    line: int
    value: Expression
    cases: list[Case]
    functions: list[FunctionDeclaration]


@dataclass(slots=True, eq=False)
class Labeled(Statement):
    """A labelled statement, with the printed label."""

    line: int
    label: str
    body: Statement


@dataclass(slots=True, eq=False)
class Empty(Statement):
    """``;``."""

    line: int


@dataclass(slots=True, eq=False)
class Program:
    """A payload: its statements or its one expression."""

    strict: bool
    body: Block | None
    value: Expression | None
    variables: list[tuple[Binding, Binding | None]]
    globals: list[str]
    directive: bool = False
