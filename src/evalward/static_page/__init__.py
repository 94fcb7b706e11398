"""One HTML file without script, and without any request: it can be mailed, archived and printed.

Texts of a log, a corpus or a caller go through ``shown``; what the functions here return is HTML.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LONGEST: Final = 200
_MINUTE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}")


def static_page(title: str, parts: Iterable[str]) -> str:
    """Return the file's text: ``parts`` are its HTML. Its policy of contents permits its own style sheet only."""
    style = files(__name__).joinpath("page.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    permitted = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{permitted}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{shown(title)}</title>\n",
            f"<style>{style}</style>\n</head>\n<body>\n<main>\n",
            *parts,
            "</main>\n</body>\n</html>\n",
        )
    )


def heading(title: str, period: str, about: str) -> str:
    """Return the head of the page."""
    return (
        f"<header>\n<p class=brand>Evalward</p>\n<h1>{shown(title)}</h1>\n"
        f"<p class=period>{shown(period)}</p>\n<p class=made>{shown(about, 1000)}</p>\n</header>\n"
    )


def key_figures(figures: Iterable[tuple[str, str, str]]) -> str:
    """Return figures in large type: name, number, and what it is."""
    items = (
        f"<div><dt>{shown(name)}</dt><dd class=value>{shown(value)}</dd><dd>{shown(about)}</dd></div>\n"
        for name, value, about in figures
    )
    return f"<dl class=figures>\n{''.join(items)}</dl>\n"


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int] = (),
    share: int | None = None,
) -> Iterator[str]:
    """Yield a table named ``title``; ``numeric`` are columns of numbers, that of ``share`` has bars, too."""
    yield f'<div class=scroll tabindex=0 role=region aria-label="{shown(title)}"><table>\n<thead><tr>'
    for place, name in enumerate(columns):
        yield f"<th scope=col{' class=number' if place in numeric else ''}>{shown(name)}</th>"
    yield "</tr></thead>\n<tbody>\n"
    most = max((_number(row[share]) for row in rows), default=0) if share is not None else 0
    for row in rows:
        yield "<tr>"
        for place, text in enumerate(row):
            bar = _bar(_number(text), most) if place == share else ""
            kind = " class=number" if place in numeric else " class=when" if _MINUTE.fullmatch(text) else ""
            yield f"<td{kind}>{bar}{shown(text)}</td>"
        yield "</tr>\n"
    yield "</tbody>\n</table></div>\n"


def _bar(value: int, most: int) -> str:
    width = 60 * value / most if most else 0
    return (
        '<svg class=bar viewBox="0 0 60 8" aria-hidden="true">'
        f'<rect x="{60 - width:.1f}" width="{width:.1f}" height="8"/></svg>'
    )


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def shown(text: str, longest: int = _LONGEST) -> str:
    """Return a text as text: escaped for HTML, invisible characters as escapes, cut."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return escape(printable(cut))
