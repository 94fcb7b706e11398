"""The schemes of a URL under every way in which known servers parse it.

The parser is that of the WHATWG URL Standard, as Chromium's: it drops tabs and line ends anywhere, and spaces and
control characters at the ends. Servers preprocess a text: they trim JavaScript's white space, put ``https://`` before
a text that does not parse, or normalise it. A text passes if every variant does.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote_to_bytes

from ada_url import URL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

SCRIPT: Final = "javascript"
# Invisible characters, and characters that some parser drops.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_HOST_AND_PORT: Final = re.compile(
    r"(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+):[0-9]{1,5}([/?#].*)?", re.IGNORECASE
)
# URL Standard, §4.4: removed from the ends, and anywhere, before a URL is parsed.
_CONTROLS_AND_SPACE: Final = "".join(map(chr, range(0x21)))
_DROPPED: Final = str.maketrans("", "", "\t\n\r")
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE | re.ASCII)
_BLANK: Final = re.compile(r"about:blank([?#].*)?")


class Reading(NamedTuple):
    """One way to read a text as a URL: its scheme without the colon, and the serialised URL."""

    scheme: str
    href: str


def denied_scheme(text: str, allowed: Collection[str]) -> str | None:
    """Return the scheme for which ``text`` is rejected, empty when no variant is a URL; None: it passes.

    ``about`` is ``about:blank`` only: the others open pages of the browser.
    """
    for reading in readings(text):
        if reading is None:
            return ""
        if reading.scheme == "about" and _BLANK.fullmatch(reading.href) is None:
            return reading.scheme
        if reading.scheme not in allowed:
            return reading.scheme
    return None


def scripts_of(text: str) -> list[bytes]:
    """Return the source of each reading of ``text`` that is a ``javascript:`` URL, as a browser decodes it.

    HTML Standard, "evaluate a javascript: URL": what follows the scheme in the serialised URL, percent-decoded, then
    decoded as UTF-8, which drops a byte order mark and replaces malformed bytes.
    """
    found = [
        unquote_to_bytes(reading.href[len(SCRIPT) + 1 :])
        .removeprefix(b"\xef\xbb\xbf")
        .decode("utf-8", "replace")
        for reading in readings(text)
        if reading is not None and reading.scheme == SCRIPT
    ]
    return list(dict.fromkeys(source.encode() for source in found))


def readings(text: str) -> Iterator[Reading | None]:
    """Yield each parse of ``text``; None: one that every parser rejects."""
    spellings = (
        text,
        text.strip(),
        _plain(text.strip()),
        _plain(unicodedata.normalize("NFKC", text).strip()),
    )
    for spelling in dict.fromkeys(spellings):
        yield from _readings_of(spelling)


def _plain(text: str) -> str:
    """Return ``text`` without invisible characters in its possible scheme."""
    scheme, colon, rest = text.partition(":")
    return "".join(each for each in scheme if unicodedata.category(each) not in _UNSEEN) + colon + rest


def _readings_of(text: str) -> Iterator[Reading | None]:
    cleaned = text.strip(_CONTROLS_AND_SPACE).translate(_DROPPED)
    # `localhost:3000` is a URL of the scheme "localhost", which opens nothing; servers put http:// before it.
    named = None if _HOST_AND_PORT.fullmatch(cleaned) else _SCHEME.match(cleaned)
    if named is None:
        yield _parsed("https://" + text)
        yield _parsed("http://" + text)
        return
    # A URL that is malformed after its scheme still has that scheme for lenient parsers.
    yield _parsed(text) or Reading(named[1].lower(), cleaned)


def _parsed(text: str) -> Reading | None:
    try:
        url = URL(text)
    except ValueError:
        return None
    return Reading(url.protocol.removesuffix(":"), url.href)
