"""What the checks for early errors share: where a node lies, the nodes still to visit, and the error itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from evalward.guard.harden.declared_names import Scope
from evalward.guard.harden.reserved_words import NOTABLE
from evalward.guard.syntax.ambiguity import UNUSUAL_SPACE
from evalward.guard.syntax.grammar import KIND_COUNT, LANGUAGE, kind
from evalward.guard.syntax.words import LINE_BREAK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

_TRIVIA = re.compile(
    rb"(?:[\t\n\v\f\r ]|"
    + UNUSUAL_SPACE.pattern
    + rb"|//(?:[^\n\r\xe2]|\xe2(?!\x80[\xa8\xa9]))*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"
)
# `++` and `--` begin a statement of their own behind a line break.
_GOES_ON = re.compile(rb"[(\[`,.*/%<>=?&|^:]|!=|\+(?!\+)|-(?!-)|in(?:stanceof)?(?![\w$\\])")
_BRACE = 0x7D
PASSED, VISITED, NAMED = range(3)
"""Whether nodes of a kind are visited: never, always, or where their text is a word or no plain ASCII."""
COMMENT = kind("comment")
KIND_NAMES = tuple(LANGUAGE.node_kind_for_id(number) or "" for number in range(KIND_COUNT))


all_children: Final[Callable[[Node], list[Node]]] = attrgetter("children")


def without_comments(node: Node) -> list[Node]:
    """Return the children of a node without comments."""
    return [child for child in node.children if child.kind_id != COMMENT]


class EarlyErrorFoundError(Exception):
    """Ends the walk: the message, and the node that is at fault."""

    def __init__(self, message: str, node: Node) -> None:
        """Keep both."""
        super().__init__(message)
        self.message = message
        self.node = node


@dataclass(frozen=True, slots=True)
class Frame:
    """What the innermost function, field initializer, static block or program allows (ECMA-262 §15)."""

    strict: bool = False
    is_async: bool = False
    generator: bool = False
    parameters: bool = False  # inside the parameters, where neither await nor yield may stand
    returns: bool = False
    new_target: bool = False
    super_property: bool = False
    super_call: bool = False
    arguments: bool = True  # the name may be used


same_frame: Final = cache(Frame)
"""Makes frames: they are few, and cost more to make than to find."""


@dataclass(slots=True)  # frozen ones take three times as long to make
class Place:
    """Where a node lies: its function, its scope, the labels and loops around it, the private names it may use.

    It is never changed.
    """

    frame: Frame
    scope: Scope
    labels: tuple[tuple[str, bool], ...] = ()  # whether the label is that of a loop
    loop: bool = False
    breakable: bool = False
    private: frozenset[str] = frozenset()
    in_class: bool = False
    top: bool = False  # directly in the program: where import and export may stand

    def inside(self, frame: Frame, scope: Scope) -> Place:
        """Return the place of a function's code: labels and loops end at its border."""
        return Place(frame, scope, (), False, False, self.private, self.in_class)

    def block(self) -> Place:
        """Return the place of a block's statements."""
        return Place(
            self.frame, Scope(self.scope), self.labels, self.loop, self.breakable, self.private, self.in_class
        )

    def looping(self) -> Place:
        """Return the place of a loop's statement."""
        return Place(self.frame, self.scope, self.labels, True, True, self.private, self.in_class)


@dataclass(slots=True)
class Walk:
    """The nodes that are still to be visited, with their places."""

    source: bytes
    module: bool
    visited: tuple[int, ...]
    children: Callable[[Node], list[Node]]  # of a node without comments
    awaits: bool  # the text has the word await
    protos: bool  # the text may have the name __proto__
    stack: list[tuple[Node, Place]] = field(default_factory=list)
    exported: set[str] = field(default_factory=set)
    needed: list[tuple[str, Node]] = field(default_factory=list)  # local names that a module exports

    def push(self, node: Node, place: Place) -> None:
        """Visit a node later."""
        how = self.visited[node.kind_id]
        if how == VISITED or (how and self.is_notable(node)):
            self.stack.append((node, place))

    def push_all(self, nodes: list[Node], place: Place) -> None:
        """Visit nodes later."""
        visited, stack = self.visited, self.stack
        for node in nodes:
            how = visited[node.kind_id]
            if how == VISITED or (how and self.is_notable(node)):
                stack.append((node, place))

    def is_notable(self, node: Node) -> bool:
        """Return whether a name or string may be at fault: a plain one that is no word of the language is not."""
        text = self.source[node.start_byte : node.end_byte]
        return text in NOTABLE or b"\\" in text or not text.isascii()

    def ends_in_semicolon(self, end: int) -> bool:
        """Return whether a semicolon is the next token."""
        return self.source.startswith(b";", self.next_token(end))

    def next_token(self, end: int) -> int:
        """Return where the next token begins."""
        match = _TRIVIA.match(self.source, end)
        return match.end() if match else end

    def check_inserted_semicolon(self, node: Node, end: int) -> None:
        """Check that ECMA-262 inserts a semicolon at ``end`` (§12.10): behind it is a line break and no operator."""
        following = self.next_token(end)
        if following >= len(self.source) or self.source[following] == _BRACE:
            return
        if not LINE_BREAK.search(self.source, end, following):
            raise fail("a statement without a semicolon, and more on the same line", node)
        if _GOES_ON.match(self.source, following):
            raise fail("a statement without a semicolon, and what may continue it on the next line", node)

    def text(self, node: Node) -> bytes:
        """Return the bytes of a node."""
        return self.source[node.start_byte : node.end_byte]


def fail(message: str, node: Node) -> EarlyErrorFoundError:
    """Return the error to raise."""
    return EarlyErrorFoundError(message, node)
