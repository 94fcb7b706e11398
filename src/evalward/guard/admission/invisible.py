"""Characters that make a payload look like another program: the construct ``bidi`` (CVE-2021-42574, UTS #39).

A check of the text alone. It accepts what scripts and emoji need: joiners between letters that are not ASCII, a
presentation selector behind an emoji or keycap, the tag characters of a flag, a byte order mark at the start.
"""

from __future__ import annotations

import re

_SUSPECTS = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_PRESENTATION = "\ufe0e\ufe0f"
_KEYCAP_BASES = "0123456789#*"
_BYTE_ORDER_MARK = "\ufeff"
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,16}\U000e007f")


def invisible_characters(payload: bytes, *, limit: int) -> tuple[tuple[int, int], ...]:
    """Return the byte spans of the first ``limit`` characters that hide or reorder text; ``payload`` is UTF-8."""
    if payload.isascii():
        return ()
    text = payload.decode()
    flags = [match.span() for match in _FLAG.finditer(text)]
    found: list[tuple[int, int]] = []
    seen, offset = 0, 0
    for match in _SUSPECTS.finditer(text):
        place = match.start()
        if _is_at_home(text, place) or any(start < place < end for start, end in flags):
            continue
        offset += len(text[seen:place].encode())
        seen = place
        found.append((offset, offset + len(match[0].encode())))
        if len(found) == limit:
            break
    return tuple(found)


def _is_at_home(text: str, place: int) -> bool:
    """Say whether the characters around an invisible one give it a visible effect."""
    char, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if char in _JOINERS:
        return _may_join(before) and _may_join(after)
    if char in _PRESENTATION:
        return before != "" and before not in _PRESENTATION and (before in _KEYCAP_BASES or _may_join(before))
    return char == _BYTE_ORDER_MARK and place == 0


def _may_join(char: str) -> bool:
    return not char.isascii() and (char in _PRESENTATION or _SUSPECTS.fullmatch(char) is None)
