"""Character classes and property escapes of a pattern (ECMA-262 §22.2.1, Annex B.1.2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.guard.harden.unicode_properties import is_property, is_property_of_strings

if TYPE_CHECKING:
    from evalward.guard.harden.pattern_text import PatternText

_CLASS_ESCAPES: Final = frozenset("dDsSwW")
_MANY_CHARACTERS: Final = _CLASS_ESCAPES | {"p", "P", "q"}
_PROPERTY: Final = re.compile(r"\\([pP])\{(?:([A-Za-z_]+)=)?([A-Za-z0-9_]+)\}")
_SET_SYNTAX: Final = frozenset("()[]{}/-|")
_DOUBLE: Final = frozenset("&!#$%*+,.:;<=>?@^`~")
_PUNCTUATORS: Final = frozenset("&-!#%,:;<=>@`~")
_BACKSPACE: Final = 8
_DEEPEST: Final = 50


def property_escape(text: PatternText) -> bool:
    r"""Read ``\p{…}`` or ``\P{…}``; return whether it may match more than one character."""
    match = _PROPERTY.match(text.text, text.at)
    if not match:
        raise text.error("a property escape that is not closed")
    strings = text.sets and not match[2] and is_property_of_strings(match[3])
    if strings and match[1] == "P":
        raise text.error("a property of strings cannot be negated")
    if not strings and not is_property(match[2], match[3]):
        raise text.error("a property that is not known")
    text.keep(match.end())
    return strings


def character_class(text: PatternText) -> None:
    """Read a class from its opening bracket on."""
    if text.sets:
        _set(text, 0)
        return
    text.keep(text.at + (2 if text.peek(1) == "^" else 1))
    while text.peek() != "]":
        low = _atom(text)
        if text.peek() != "-" or text.peek(1) in {"]", ""}:
            continue
        text.keep(text.at + 1)
        high = _atom(text)
        if low is None or high is None:
            if text.unicode:
                raise text.error("a class cannot be the end of a range")
        elif low > high:
            raise text.error("a range is out of order")
    text.keep(text.at + 1)


def _atom(text: PatternText) -> int | None:
    """Read one member of a class; return the character, or None for several."""
    char = text.peek()
    if not char:
        raise text.error("a class is not closed")
    if char != "\\":
        return text.literal(in_class=True)
    following = text.peek(1)
    if following == "b":
        text.keep(text.at + 2)
        return _BACKSPACE
    if _escaped_set(text, following):
        return None
    return text.character_escape(in_class=True)


def _escaped_set(text: PatternText, letter: str) -> bool:
    if letter and letter in _CLASS_ESCAPES:
        text.keep(text.at + 2)
        return True
    if text.unicode and letter in {"p", "P"}:
        property_escape(text)
        return True
    return False


def _set(text: PatternText, depth: int) -> bool:  # noqa: C901  the three kinds of a class differ in little
    """Read a class under the flag v; return whether it may match more than one character."""
    if depth > _DEEPEST:
        raise text.error("classes nest too deeply")
    negated = text.peek(1) == "^"
    text.keep(text.at + (2 if negated else 1))
    operator, members = "", 0
    strings = False
    while text.peek() != "]":
        found = text.text[text.at : text.at + 2]
        if found in {"--", "&&"}:
            if members != 1 and operator != found:
                raise text.error("an operator of a class without its operands")
            if operator not in {"", found}:
                raise text.error("different operators in one class")
            operator = found
            text.keep(text.at + 2)
            if text.peek() == "&" and found == "&&":
                raise text.error("an operator of a class without its operands")
        elif operator:
            raise text.error("members next to an operator in one class")
        may, ranged = _operand(text, depth, alone=bool(operator))
        members += 2 if ranged else 1  # a range is no operand
        if operator == "&&":
            strings = strings and may
        elif operator != "--":
            strings = strings or may
    if negated and strings:
        raise text.error("a negated class that may match several characters")
    text.keep(text.at + 1)
    return strings and not negated


def _operand(text: PatternText, depth: int, *, alone: bool) -> tuple[bool, bool]:
    """Read a member; return whether it may match several characters, and whether it is a range."""
    char = text.peek()
    if char == "[":
        return _set(text, depth + 1), False
    if char == "\\":
        letter = text.peek(1)
        if letter in {"p", "P"}:
            return property_escape(text), False
        if letter == "q":
            return _strings(text), False
        if _escaped_set(text, letter):
            return False, False
    low = _character(text)
    if alone or text.peek() != "-" or text.peek(1) == "-":
        return False, False
    text.keep(text.at + 1)
    if text.peek() == "[" or (text.peek() == "\\" and text.peek(1) in _MANY_CHARACTERS):
        raise text.error("a class cannot be the end of a range")
    if low > _character(text):
        raise text.error("a range is out of order")
    return False, True


def _character(text: PatternText) -> int:
    """Read a ClassSetCharacter."""
    char, following = text.peek(), text.peek(1)
    if not char:
        raise text.error("a class is not closed")
    if char == "\\":
        if following == "b":
            text.keep(text.at + 2)
            return _BACKSPACE
        if following and following in _PUNCTUATORS:
            if following == "<":
                text.at += 2
                text.out.append("\\x3c")
            else:
                text.keep(text.at + 2)
            return ord(following)
        return text.character_escape(in_class=False)
    if char in _SET_SYNTAX:
        raise text.error("a character that a class must escape")
    if char in _DOUBLE and following == char:
        raise text.error("two punctuators that a class must escape")
    return text.literal()


def _strings(text: PatternText) -> bool:
    r"""Read ``\q{…}``; return whether one of its strings is not one character."""
    if text.peek(2) != "{":
        raise text.error("\\q needs strings in braces")
    text.keep(text.at + 3)
    several, length = False, 0
    while text.peek() != "}":
        if text.peek() == "|":
            text.keep(text.at + 1)
            several, length = several or length != 1, 0
        else:
            _character(text)
            length += 1
    text.keep(text.at + 1)
    return several or length != 1
