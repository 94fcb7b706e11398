"""The text of a pattern that is being read and printed again: places, errors, single characters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from evalward.guard.harden.literal_text import is_identifier_name, unit_escapes

_HEX2: Final = re.compile(r"[0-9A-Fa-f]{2}")
_HEX4: Final = re.compile(r"[0-9A-Fa-f]{4}")
_BRACED: Final = re.compile(r"\{([0-9A-Fa-f]+)\}")
_TRAIL: Final = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_OCTAL: Final = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
_SYNTAX_CHARACTERS: Final = frozenset("^$\\.*+?()[]{}|/")
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_MAX_CODE_POINT: Final = 0x10FFFF
_ASTRAL: Final = 0x10000
_LAST_ASCII: Final = 0x7E
_BACKSLASH: Final = 0x5C


class InvalidRegExpError(ValueError):
    """The text is no regular expression, or none that is understood; the message says why."""

    def __init__(self, reason: str, position: int) -> None:
        """Keep the reason, and the position in the pattern (in characters)."""
        super().__init__(reason)
        self.position = position


@dataclass(slots=True)
class PatternText:
    """A pattern's characters (code points with the flags u and v, else UTF-16 code units), and what is printed."""

    text: str
    unicode: bool
    sets: bool
    named: bool  # it has a named group, so that \k is always a reference
    groups: int  # how many groups capture
    at: int = 0
    out: list[str] = field(default_factory=list)

    def error(self, reason: str) -> InvalidRegExpError:
        """Return the error for the current position."""
        return InvalidRegExpError(reason, self.at)

    def peek(self, ahead: int = 0) -> str:
        """Return a character that was not read yet, or the empty string at the end."""
        return self.text[self.at + ahead : self.at + ahead + 1]

    def take(self, text: str) -> bool:
        """Read ``text`` if it is what comes next."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def keep(self, end: int) -> None:
        """Print what is read up to ``end`` as it is: ASCII that the grammar defines."""
        self.out.append(self.text[self.at : end])
        self.at = end

    def literal(self, *, in_class: bool = False) -> int:
        """Read and print a plain character; return it."""
        char = self.text[self.at]
        self.at += 1
        point = ord(char)
        if in_class and char == "/" and self.out[-1] != "<":
            self.out.append(char)
            return point
        self.out.append(self._as_literal(char, point))
        return point

    def _as_literal(self, char: str, point: int) -> str:
        if not " " <= char <= "~":
            return self.escape(point)
        if char in "/{}" or (char == "]"):
            return f"\\{char}"
        # Neither `<!--` nor `(?<!--` may come out, nor `<` in front of the literal's closing slash.
        if (char == "<" and self.peek() in {"!", ""}) or (
            char == "-" and self.out and self.out[-1] == "(?<!"
        ):
            return f"\\x{point:02x}"
        return char

    def escape(self, point: int) -> str:
        """Return the escape of a character."""
        if point <= _LAST_ASCII + 1:
            return f"\\x{point:02x}"
        return unit_escapes(chr(point)) if point < _ASTRAL else f"\\u{{{point:x}}}"

    def character_escape(self, *, in_class: bool) -> int:
        """Read and print a CharacterEscape (§22.2.1) with its backslash; return the character."""
        char = self.peek(1)
        if not char:
            raise self.error("the pattern ends in a backslash")
        if char in _CONTROLS:
            self.keep(self.at + 2)
            return _CONTROLS[char]
        if char == "c":
            return self._control_letter(in_class=in_class)
        if char == "x":
            return self._hex()
        if char == "u":
            return self._unicode_escape()
        if char.isascii() and char.isdigit():
            return self._digit()
        return self._identity(char, in_class=in_class)

    def _control_letter(self, *, in_class: bool) -> int:
        letter = self.peek(2)
        plain = letter.isascii() and letter.isalpha()
        if plain or (in_class and not self.unicode and letter and letter in "0123456789_"):
            self.keep(self.at + 3)
            return ord(letter) % 32
        if self.unicode:
            raise self.error("\\c needs a letter")
        self.out.append("\\\\")  # Annex B: the backslash is a plain character
        self.at += 1
        return _BACKSLASH

    def _hex(self) -> int:
        match = _HEX2.match(self.text, self.at + 2)
        if match:
            self.keep(match.end())
            return int(match[0], 16)
        return self._letter("\\x needs two hexadecimal digits")

    def _unicode_escape(self) -> int:
        if match := _HEX4.match(self.text, self.at + 2):
            point, end = int(match[0], 16), match.end()
            trail = _TRAIL.match(self.text, end) if self.unicode and 0xD800 <= point < 0xDC00 else None  # noqa: PLR2004
            if trail:
                point = _ASTRAL + ((point & 0x3FF) << 10 | int(trail[1], 16) & 0x3FF)
                end = trail.end()
            self.keep(end)
            return point
        braced = _BRACED.match(self.text, self.at + 2) if self.unicode else None
        if braced:
            point = int(braced[1], 16)
            if point > _MAX_CODE_POINT:
                raise self.error("the escape stands for no code point")
            self.keep(braced.end())
            return point
        return self._letter("\\u needs hexadecimal digits")

    def _letter(self, reason: str) -> int:
        """Read an escape without its digits, which Annex B takes for the letter."""
        if self.unicode:
            raise self.error(reason)
        self.keep(self.at + 2)
        return ord(self.text[self.at - 1])

    def _digit(self) -> int:
        if self.peek(1) == "0" and not (self.peek(2).isascii() and self.peek(2).isdigit()):
            self.keep(self.at + 2)
            return 0
        if self.unicode:
            raise self.error("a decimal escape that is no reference")
        octal = _OCTAL.match(self.text, self.at + 1)
        if octal is None:  # \8 and \9
            self.keep(self.at + 2)
            return ord(self.text[self.at - 1])
        self.at = octal.end()
        self.out.append(f"\\x{int(octal[0], 8):02x}")
        return int(octal[0], 8)

    def _identity(self, char: str, *, in_class: bool) -> int:
        if self.unicode:
            if char not in _SYNTAX_CHARACTERS and not (in_class and char == "-"):
                raise self.error("an escape that the flags u and v do not allow")
        elif char == "k" and self.named:
            raise self.error("\\k needs the name of a group")
        if not " " <= char <= "~" or char in "<-":
            self.at += 2
            point = ord(char)
            self.out.append(self._as_escaped(char, point))
            return point
        self.keep(self.at + 2)
        return ord(char)

    def _as_escaped(self, char: str, point: int) -> str:
        if char == "-":
            return "\\-"
        if char == "<":
            return "\\x3c"
        return self.escape(point)

    def group_name(self) -> str:
        """Read a GroupName from its ``<`` to its ``>``; print it; return the name (§22.2.1)."""
        end = self.text.find(">", self.at)
        if not self.take("<") or end < 0:
            raise self.error("a group's name is not closed")
        name = ""
        while self.at < end:
            name += chr(self._name_character())
        if not is_identifier_name(name):
            raise self.error("a group's name is no identifier")
        self.at = end + 1
        shown = "".join(
            char
            if char.isascii()
            else self.escape(ord(char))
            if ord(char) < _ASTRAL
            else f"\\u{{{ord(char):x}}}"
            for char in name
        )
        self.out.append(f"<{shown}>")
        return name

    def _name_character(self) -> int:
        """Read a character of a name, in which escapes and pairs count as with the flag u."""
        text = self.text
        if self.take("\\"):
            if not self.take("u"):
                raise self.error("a group's name has an escape that no name may have")
            if braced := _BRACED.match(text, self.at):
                self.at = braced.end()
                point = int(braced[1], 16)
                if point > _MAX_CODE_POINT:
                    raise self.error("the escape stands for no code point")
                return point
            units = _HEX4.match(text, self.at)
            if not units:
                raise self.error("a group's name has an escape that no name may have")
            self.at = units.end()
            point = int(units[0], 16)
            trail = _TRAIL.match(text, self.at) if 0xD800 <= point < 0xDC00 else None  # noqa: PLR2004
            if trail:
                self.at = trail.end()
                return _ASTRAL + ((point & 0x3FF) << 10 | int(trail[1], 16) & 0x3FF)
            return point
        point = ord(text[self.at])
        self.at += 1
        if 0xD800 <= point < 0xDC00 and self.peek():  # noqa: PLR2004
            trail_unit = ord(self.peek())
            if 0xDC00 <= trail_unit <= 0xDFFF:  # noqa: PLR2004
                self.at += 1
                return _ASTRAL + ((point & 0x3FF) << 10 | trail_unit & 0x3FF)
        return point
