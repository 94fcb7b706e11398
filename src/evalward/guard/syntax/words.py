"""``await``, ``yield`` and ``let``: keywords here, names there (guard.md §4, U4 and U8).

V8 reads them as names wherever ECMA-262 allows it; tree-sitter reads them as keywords nearly everywhere. Behind a name
a slash divides, behind a keyword it begins a regular expression. So text that one parser takes for a regular expression
may be code for the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalward.guard.syntax.grammar import COMMENTS, IDENTIFIERS, kind, kinds
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.syntax.program import ParsedProgram

LINE_BREAK = re.compile(rb"[\n\r]|\xe2\x80[\xa8\xa9]")
# The word comes first: a pattern that begins with a literal is ten times as fast.
_WORD = {word: re.compile(rb"%s(?<!\w%s)\b" % (word, word)) for word in (b"await", b"yield", b"let")}
_NAMES = frozenset(_WORD)
# A name, brace or longer word right behind `let`: with two words side by side no reading has a name `let`,
# but for the three operators that are words.
UNPLAIN_LET = re.compile(rb"let(?![\w$]|[ \t]++(?!(?:in|of|instanceof)(?![\w$]))[A-Za-z_$]|[ \t]*+\{)")
_ASYNC = kind("async", named=False)
_STAR = kind("*", named=False)
_EQUALS = kind("=", named=False)
_ARROW = kind("arrow_function")
_IDENTIFIER = kind("identifier")
_BRACKET_NEXT = re.compile(rb"(?:[\t\n\v\f\r ]|/\*(?:[^*]|\*(?!/))*+\*/)*+[(\[]")
_GENERATORS = kinds("generator_function_declaration", "generator_function")
_PARAMETERS = kind("formal_parameters")
_FIELD = kind("field_definition")
_STATIC_BLOCK = kind("class_static_block")
# The value of a field may be a function of the same span, which lies inside.
_OF_CLASS, _OF_FUNCTION = range(2)
# Behind the name `await` these divide or count it, and what follows them is lexed otherwise.
_AFTER_NAME = (b"/", b"++", b"--")
# Behind the name `await` and a line break a script begins a new statement with these.
_STATEMENT_STARTS = (b"{", b"function", b"class", b"async", b"let")


@dataclass(slots=True)
class Words:
    """The occurrences of the three words that the pass over a program finds, judged at its end."""

    program: ParsedProgram
    present: dict[bytes, int]
    keywords: dict[bytes, int] = field(default_factory=lambda: dict.fromkeys(_NAMES, 0))
    regions: list[tuple[int, int, int, bool, bool]] = field(default_factory=list)
    uses: list[tuple[int, Node, bool]] = field(default_factory=list)

    @property
    def scoped(self) -> bool:
        """Whether functions matter at all."""
        return b"await" in self.present or b"yield" in self.present

    def enter(self, node: Node, children: list[Node]) -> None:
        """Note a function, field or static block: the innermost one decides the meaning of a word."""
        own = node.kind_id
        start, end = node.start_byte, node.end_byte
        if own == _FIELD:
            if any(child.kind_id == _EQUALS for child in children):
                self.regions.append((children[-1].start_byte, -end, _OF_CLASS, False, False))
            return
        if own == _STATIC_BLOCK:
            self.regions.append((start, -end, _OF_CLASS, False, False))
            return
        is_async = is_generator = False
        for child in children:
            if child.kind_id == _ASYNC:
                is_async = True
            elif child.kind_id == _STAR:
                is_generator = True
            elif child.kind_id == _PARAMETERS:
                if own != _ARROW:
                    start = child.start_byte  # a computed name belongs to the scope around the method
                break
        self.regions.append((start, -end, _OF_FUNCTION, is_async, is_generator or own in _GENERATORS))

    def use(self, node: Node, *, awaits: bool) -> None:
        """Note an await or yield expression."""
        self.keywords[b"await" if awaits else b"yield"] += 1
        self.uses.append((node.start_byte, node, awaits))

    def fault(self) -> Node | None:
        """Return the first node that V8 reads, or may read, differently."""
        # A word that is not one of the keywords seen may be a name, or lie in a property name or a string.
        if any(count != self.keywords[word] for word, count in self.present.items()):
            for name in _names(self.program):
                if not self._awaits_bracket(name):
                    return name
                self.uses.append((name.start_byte, name, True))
        return self._misplaced()

    def _awaits_bracket(self, name: Node) -> bool:
        """Say whether a name is the operator of ``await (x)`` or ``await [x]``, a name in the tree.

        The tokens are the same in V8; the resolver handles that they group differently.
        """
        source = self.program.source
        if name.kind_id != _IDENTIFIER or self.program.text(name) != b"await":
            return False
        return _BRACKET_NEXT.match(source, name.end_byte) is not None

    def _misplaced(self) -> Node | None:
        self.regions.sort()  # an outer one comes first
        self.uses.sort(key=lambda use: use[0])
        open_regions: list[tuple[int, int, int, bool, bool]] = []
        upcoming = 0
        for start, node, awaits in self.uses:
            while upcoming < len(self.regions) and self.regions[upcoming][0] <= start:
                open_regions.append(self.regions[upcoming])
                upcoming += 1
            while open_regions and -open_regions[-1][1] <= start:
                open_regions.pop()
            region = open_regions[-1] if open_regions else None
            if awaits:
                permitted = region[3] if region else self._top_level_await(node)
            else:
                permitted = bool(region and region[4]) and not self._broken(node, b"yield")
            if not permitted:
                return node
        return None

    def _top_level_await(self, node: Node) -> bool:
        shapes = self.program.shapes
        if Shape.MODULE in shapes:
            return True
        if Shape.ASYNC_BODY not in shapes:
            return False
        if node.kind_id == _IDENTIFIER:
            return True
        operand = _operand(node)
        if operand is None or operand.kind_id == _ARROW:
            return False
        source, start = self.program.source, operand.start_byte
        if source.startswith(_AFTER_NAME, start):
            return False
        return not (self._broken(node, b"await") and source.startswith(_STATEMENT_STARTS, start))

    def _broken(self, node: Node, word: bytes) -> bool:
        operand = _operand(node)
        end = operand.start_byte if operand else node.end_byte
        return bool(LINE_BREAK.search(self.program.source, node.start_byte + len(word), end))


def words_of(program: ParsedProgram) -> Words | None:
    """Return the collector for ``program``, or None when the text shows that none of the words is a name."""
    source = program.source
    if b"await" not in source and b"yield" not in source and not UNPLAIN_LET.search(source):
        return None
    present = {word: len(_WORD[word].findall(source)) for word in _NAMES if word in source}
    return Words(program, present) if present else None


def _operand(node: Node) -> Node | None:
    operands = [child for child in node.children[1:] if child.kind_id not in COMMENTS]
    return operands[-1] if operands else None


def _names(program: ParsedProgram) -> list[Node]:
    found: list[Node] = []
    stack = [program.tree.root_node]
    while stack:
        node = stack.pop()
        if node.child_count:
            stack.extend(node.children)
        elif node.kind_id in IDENTIFIERS and program.text(node) in _NAMES:
            found.append(node)
    found.sort(key=lambda name: name.start_byte)
    return found
