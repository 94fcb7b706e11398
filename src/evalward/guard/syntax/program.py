"""A payload as one or more sinks would parse it, and the results of one pass over its tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from evalward.guard.target import Shape


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """The tree of a payload inside the wrapper of ``shapes`` (all of them read it alike).

    ``source`` is the wrapped text that the tree's byte offsets index, ``offset`` the length of the wrapper's
    prefix, so that ``node.start_byte - offset`` is a payload offset. ``roots`` are what the payload consists
    of: its statements (script, async_body, module; comments included), or its one expression (expression,
    function). ``length`` is the payload's own length in bytes. ``called`` says that the sink calls what the program
    gives, if that is a function.
    """

    shapes: tuple[Shape, ...]
    source: bytes
    tree: Tree
    offset: int
    length: int
    roots: tuple[Node, ...]
    called: bool = False

    def text(self, node: Node) -> bytes:
        """Return the bytes of ``node`` (``node.text`` is unset: the text was read by a callable)."""
        return self.source[node.start_byte : node.end_byte]


@dataclass(frozen=True, slots=True)
class Survey:
    """The results of one pass over a tree; every flag errs towards True.

    ``opaque`` holds, sorted, the wrapped-source spans ``(start, end, kind)`` of comments ("c"), string and
    template text ("s") and regular expressions ("r"); it is empty unless requested.
    """

    nodes: int
    dynamic_subscript: bool  # a[k] whose index is no string or number literal
    computed_key: bool  # {[k]: v}, class { [k]() {} }
    bare_this: bool  # `this` that is not followed by a plain `.name`
    with_statement: bool
    escaped_identifier: bool
    escaped_string: bool  # an escape in a string or template that may stand for a character of a name
    opaque: tuple[tuple[int, int, str], ...] = ()
