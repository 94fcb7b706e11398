"""Reading: from tree-sitter's nodes to the tree that is printed, and to its scopes, in one pass.

``Reader`` holds the state; the modules ``read_*`` have a function for each node kind, and ``reading`` joins their
tables. A node kind without a function is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, TypeVar

from evalward.guard.harden.literal_text import name as decoded_name
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.scopes import Scopes
from evalward.guard.syntax.grammar import COMMENTS, kind
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tree_sitter import Node

    from evalward.guard.harden.travel import Sendings
    from evalward.guard.harden.tree import Expression, Home, Name, PrivateName, PrivateUse, Statement
    from evalward.guard.syntax.program import ParsedProgram

    ExpressionHandler: TypeAlias = Callable[["Reader", Node], Expression]
    StatementHandler: TypeAlias = Callable[["Reader", Node], Statement]

_Text = TypeVar("_Text", str, bytes)
_Decoded = TypeVar("_Decoded")
_LINE_END = re.compile(rb"\r\n|[\n\r]|\xe2\x80[\xa8\xa9]")
_SEVERAL_BYTES = re.compile(rb"[\xc0-\xff][\x80-\xbf]+")
_LONGEST = 4
_HAS_COMMENT = re.compile(rb"//|/\*|<!--|-->|#!")


_children: Final[Callable[[Node], list[Node]]] = attrgetter("children")


def _without_comments(node: Node) -> list[Node]:
    return [child for child in node.children if child.kind_id not in COMMENTS]


class Reader:
    """The state of one pass over a program."""

    __slots__ = (
        "_expressions",
        "_lines",
        "_offset",
        "_plain",
        "_source",
        "_statements",
        "_wide",
        "asynchronous",
        "children",
        "derived",
        "evals",
        "function_kind",
        "home",
        "labels",
        "private",
        "scopes",
        "sendings",
        "static",
        "strict",
        "texts",
    )

    def __init__(
        self,
        program: ParsedProgram,
        shape: Shape,
        prefix: str,
        expressions: Sequence[ExpressionHandler],
        statements: Sequence[StatementHandler],
    ) -> None:
        source = self._source = program.source
        self._offset = program.offset
        self._expressions = expressions
        self._statements = statements
        # A name is a slice of the text where no character has several bytes and none is escaped.
        self._plain = source.decode() if source.isascii() and b"\\u" not in source else None
        # The children of a node without comments; the getter is a function of C.
        self.children = _without_comments if _HAS_COMMENT.search(source) else _children
        self._wide = () if source.isascii() else _wide(source[program.offset :])
        self._lines = [
            0,
            *(match.end() - program.offset for match in _LINE_END.finditer(source, program.offset)),
        ]
        self.scopes = Scopes(prefix, sharing=shape is Shape.SCRIPT)
        self.strict = shape is Shape.MODULE
        self.asynchronous = shape in (Shape.ASYNC_BODY, Shape.MODULE)
        self.function_kind = ""
        self.derived = False
        self.evals: list[tuple[Name, Node]] = []
        self.home: Home | None = None
        self.static = False
        self.labels: dict[str, str] = {}
        self.private: list[tuple[dict[str, PrivateName], list[PrivateUse]]] = []
        self.texts: list[str] = []
        self.sendings: Sendings | None = None

    def expression(self, node: Node) -> Expression:
        """Read an expression; raise RefusedError for a kind that is not understood."""
        return self._expressions[node.kind_id](self, node)

    def statement(self, node: Node) -> Statement:
        """Read a statement; raise RefusedError for a kind that is not understood."""
        return self._statements[node.kind_id](self, node)

    def text(self, node: Node) -> str:
        """Return the text of ``node``."""
        return self._source[node.start_byte : node.end_byte].decode()

    def between(self, start: int, end: int) -> bytes:
        """Return the text between two offsets of the tree."""
        return self._source[start:end]

    def raw(self, node: Node) -> bytes:
        """Return the bytes of ``node``."""
        return self._source[node.start_byte : node.end_byte]

    def name(self, node: Node) -> str:
        """Return the name that an identifier means; one that is written as it is holds no prefix, as the text."""
        if self._plain is not None:
            return self._plain[node.start_byte : node.end_byte]
        source = self._source[node.start_byte : node.end_byte]
        if source.isascii() and b"\\" not in source:
            return source.decode()
        return self.noted(self.decoded(node, decoded_name, source).text)

    def decoded(self, node: Node, decode: Callable[[_Text], _Decoded], source: _Text) -> _Decoded:
        """Return what ``decode`` makes of the source of a literal; raise RefusedError where that is invalid."""
        try:
            return decode(source)
        except ValueError as error:
            self.refuse(node, f"This {node.type} is not understood: {error}.")

    def noted(self, text: str) -> str:
        """Note a text that the payload holds: the prefix must not be in it."""
        self.texts.append(text)
        return text

    def offset(self, position: int) -> int:
        """Return an offset of the tree as the index of a UTF-16 unit of the payload."""
        position -= self._offset
        if not self._wide:
            return position
        number = bisect_right(self._wide, (position, 0)) - 1
        return position - (self._wide[number][1] if number >= 0 else 0)

    def line(self, node: Node) -> int:
        """Return the line of the payload on which ``node`` begins, counted from 1."""
        return bisect_right(self._lines, node.start_byte - self._offset)

    def refuse(self, node: Node, reason: str, construct: str | None = None) -> NoReturn:
        """Raise RefusedError at ``node``."""
        start, end = node.start_byte - self._offset, node.end_byte - self._offset
        raise RefusedError(reason, construct=construct, kind=node.type, start=max(start, 0), end=max(end, 0))

    def unknown(self, node: Node) -> NoReturn:
        """Refuse a node that is not understood."""
        self.refuse(node, f"The emitter does not understand a node of kind {node.type} here.")


def _wide(source: bytes) -> Sequence[tuple[int, int]]:
    """Return where characters of several bytes end, and how many more bytes than UTF-16 units there are so far."""
    found: list[tuple[int, int]] = []
    more = 0
    for match in _SEVERAL_BYTES.finditer(source):
        length = match.end() - match.start()
        more += length - (2 if length == _LONGEST else 1)
        found.append((match.end(), more))
    return found


def token(text: str) -> int:
    """Return the number of an anonymous node kind."""
    return kind(text, named=False)
