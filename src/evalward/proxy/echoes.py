"""Answers that quote the program that ran: the client sees the payload that it sent.

playwright-mcp, for one, answers each call with the code that it ran; a hardened program has some 60 KB, which an agent
would pay for in tokens.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def with_payloads(value: Any, programs: Sequence[tuple[str, str]]) -> tuple[Any, bool]:
    """Return the JSON ``value`` with the payload in place of each quoted program, and whether there was one.

    ``programs`` are pairs of a program (ASCII) and its payload.
    """
    pairs = [
        (spelling, quoted)
        for program, payload in programs
        for spelling, quoted in zip(_spellings(program), _spellings(payload), strict=True)
    ]
    is_changed = False

    def visited(each: Any) -> Any:
        nonlocal is_changed
        if isinstance(each, str):
            text = each
            for spelling, quoted in pairs:
                if spelling in text:
                    text = text.replace(spelling, quoted)
            is_changed = is_changed or text is not each
            return text
        if isinstance(each, list):
            return [visited(item) for item in each]
        if isinstance(each, dict):
            return {key: visited(item) for key, item in each.items()}
        return each

    return visited(value), is_changed


def _spellings(text: str) -> list[str]:
    """Return ``text`` as it is, and within the quotes of a literal: of JSON, and the three of JavaScript."""
    within = json.dumps(text, ensure_ascii=False)[1:-1]
    plain = within.replace('\\"', '"')
    return [text, within, plain.replace("'", "\\'"), plain.replace("`", "\\`").replace("${", "\\${")]
