"""What active markup is: script elements, event handler attributes and URLs that run (HTML Standard; guard.md §2).

Text is active if a page that inserts it, or follows it as a URL, may run script. Every pattern about markup is built
here from the same lists. A leaf: it imports nothing of the guard.
"""

from __future__ import annotations

import base64
import contextlib
import html
import re
import urllib.parse
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT_SCHEMES: Final = ("javascript", "vbscript")
WORDS: Final = frozenset({*SCRIPT_SCHEMES, "script", "SCRIPT", "srcdoc"})
"""The words of active markup that are no attribute of the catalogue; handler attributes are there."""

_SCHEME: Final = r"(?:java|vb)script"
_CONTROLS: Final = r"[\x00-\x20]*"
_HANDLER: Final = r"[\s\"'/]on[a-z]+\s*="
# How the names of handlers begin. Three letters tell a cut-off handler from a word such as `one` or `only`.
_HANDLER_STEM: Final = (
    "on(?:err|loa|cli|dbl|mou|foc|blu|tog|ani|poi|key|inp|cha|beg|pag|whe|dra|tra|sub|mes|scr)[a-z]*"
)
# XML binds any prefix to a namespace (Namespaces in XML §4).
_PREFIX: Final = r"(?:[^\s<>/:\"'=]+\s*:\s*)?"
_TAGS: Final = rf"{_PREFIX}(?:script|object|embed|base)"
# An internal subset declares attributes and parts of text that no element shows (XML 1.0 §2.8, §3.3, §4.2).
_DECLARATIONS: Final = r"<!\s*(?:ENTITY|ATTLIST)|<!DOCTYPE[^<>\[]*\[|<\?xml-stylesheet"

# One pattern for what begins with `<`: the search goes from one such character to the next.
_ACTIVE_TAG: Final = re.compile(rf"<\s*{_TAGS}|{_DECLARATIONS}", re.IGNORECASE)
_ACTIVE_ATTRIBUTE: Final = re.compile(_HANDLER, re.IGNORECASE)
_SCRIPTED: Final = re.compile(
    rf"<\s*{_PREFIX}script\b|{_DECLARATIONS}|{_HANDLER}|srcdoc|javascript:", re.IGNORECASE
)
# Elements that run script by some of their attributes only, see `_is_inert`.
_ELEMENT: Final = re.compile(rf"<\s*{_PREFIX}(iframe|meta|link)(?![\w-])", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"[\s/]+(?P<name>[a-z][\w-]*)(?:\s*=\s*(?:\"(?P<double>[^\"<>]*)\"|'(?P<single>[^'<>]*)'|(?P<bare>[^\s\"'<>=`]+)))?"
    r"(?=[\s/>])",
    re.IGNORECASE,
)
_TAG_END: Final = re.compile(r"\s*/?>")
_CUT_OFF_VALUE: Final = re.compile(
    r"\s+(?P<name>[a-z][\w-]*)\s*=\s*(?:\"(?P<double>[^\"<>]*)|'(?P<single>[^'<>]*))\Z", re.IGNORECASE
)
_PLAIN_ATTRIBUTES: Final = frozenset(
    {
        "id",
        "name",
        "class",
        "style",
        "title",
        "width",
        "height",
        "hidden",
        "lang",
        "dir",
        "tabindex",
        "role",
        "align",
    }
)
_INERT_ATTRIBUTES: Final[Mapping[str, frozenset[str]]] = {
    "iframe": _PLAIN_ATTRIBUTES
    | {"src", "sandbox", "loading", "allow", "allowfullscreen", "referrerpolicy", "frameborder", "scrolling"}
    | {"marginwidth", "marginheight"},
    "meta": _PLAIN_ATTRIBUTES | {"charset", "content", "property"},
    "link": _PLAIN_ATTRIBUTES | {"rel", "href", "type", "media", "sizes", "crossorigin", "integrity"},
}
_INERT_RELATIONS: Final = frozenset(
    {
        "stylesheet",
        "icon",
        "shortcut",
        "apple-touch-icon",
        "preconnect",
        "dns-prefetch",
        "canonical",
        "alternate",
    }
)
_INERT_URL: Final = re.compile(
    r"\s*(?:(?:https?:|about:blank\b|[/.?#])|[\w%-]+(?:[/.?#]|\s*\Z)|\Z)", re.IGNORECASE
)
# The beginning of a URL whose scheme is decided, or that has not begun.
_INERT_URL_START: Final = re.compile(r"\s*(?:https?:|about:blank\b|[\w%-]*[/.?#]|\Z)", re.IGNORECASE)
# A URL parser drops white space and control characters before a scheme or inside of one.
_WITHOUT_DROPPED: Final = dict.fromkeys(range(0x21))
_ACTIVE_SCHEMES: Final = (*(f"{scheme}:" for scheme in SCRIPT_SCHEMES), "data:text/html")
_CUT_OFF_HANDLER: Final = re.compile(rf"[\s\"'/]{_HANDLER_STEM}\Z", re.IGNORECASE)
_RUNNING_NAME: Final = re.compile(rf"\s*(?:{_HANDLER_STEM}|script|srcdoc)\s*\Z", re.IGNORECASE)
_SCRIPT_SCHEME: Final = re.compile(rf"{_CONTROLS}{_SCHEME}\b", re.IGNORECASE)
_SCHEME_START: Final = re.compile(rf"{_CONTROLS}(?:j\s*a\s*v\s*a\s*s|v\s*b\s*s|data\s*:)", re.IGNORECASE)
_SCRIPT_URL: Final = re.compile(
    rf"{_CONTROLS}(?:j[\s]*a[\s]*v[\s]*a|v[\s]*b)[\s]*s[\s]*c[\s]*r[\s]*i[\s]*p[\s]*t[\s]*:"
    rf"|{_CONTROLS}data:(?:(?:text|application)/(?:x-)?javascript|,[^\s])",
    re.IGNORECASE,
)
_SCRIPT_INSIDE: Final = re.compile(
    r"(?:j[\s]*a[\s]*v[\s]*a|v[\s]*b)[\s]*s[\s]*c[\s]*r[\s]*i[\s]*p[\s]*t[\s]*:"
    r"\s*(?!void[\s(]*\d|\s|;|[\"'\]]|$)",
    re.IGNORECASE,
)
_DOCUMENT_URL: Final = re.compile(
    r"\s*data:\s*(?:text/html|image/svg\+xml|(?:application|text)/(?:[\w.-]+\+)?xml)[^,]*?(;\s*base64\s*)?,(.*)",
    re.IGNORECASE | re.DOTALL,
)
_DATA_URL: Final = re.compile(r"\s*data:[^,]*?(;\s*base64\s*)?,(.*)", re.IGNORECASE | re.DOTALL)
_XML_SCRIPT: Final = re.compile(rf"<\s*{_PREFIX}script|{_DECLARATIONS}", re.IGNORECASE)
# An escape character switches to another character set (ISO 2022), a NUL is half of a UTF-16 letter.
_OTHER_ENCODING: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_MIN_SCHEME: Final = 2
_MIN_START: Final = 4
# The scheme, unless `void` or nothing follows it, or it is part of a media type.
_SCHEME_INSIDE: Final = re.compile(r"(?<![\w/-])javascript(?!:?(?:void|;|$|[\"'\]]))(?![\w-])")
# What a pattern or a list of patterns compares with begins otherwise.
_SCHEME_AT_END: Final = re.compile(r"[^\w/^|(-]javascript:\Z|[:{,\[]\s*\"javascript:")
_GOES_ON: Final = re.compile(r"(?!void\b|;|//)[^\d]")
_WHOLE: Final = re.compile(
    r"(?:[^<]|</?(?!(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|plaintext|template|svg|math"
    r"|select|frameset)\b)[a-z][a-z0-9]*(?:\s+[a-z][\w-]*(?:\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[\w./#:-]+))?)*\s*/?>)*",
    re.IGNORECASE | re.ASCII,
)


# One run asks for the same texts again and again.
@lru_cache(maxsize=128)
def is_active(text: str, *, cut_off: bool = False) -> bool:
    """Whether markup or a URL holds script: handlers, script elements, ``srcdoc``, ``javascript:`` in any spelling.

    A frame without ``srcdoc`` or a script URL, a style sheet and a ``meta`` that only describes the page hold none.
    ``cut_off`` text is part of a longer one: it may end in the value of an attribute.
    """
    if "<" not in text and ":" not in text:
        return False
    decoded = html.unescape(text) if "&" in text else text
    lower = _lower(decoded)
    if "srcdoc" in lower or ("=" in decoded and _ACTIVE_ATTRIBUTE.search(decoded)):
        return True
    if ":" in decoded:
        url = lower.translate(_WITHOUT_DROPPED)
        if any(scheme in url for scheme in _ACTIVE_SCHEMES):
            return True
    return "<" in decoded and bool(
        _ACTIVE_TAG.search(decoded)
        or any(not _is_inert(found, cut_off=cut_off) for found in _ELEMENT.finditer(decoded))
    )


def _lower(text: str) -> str:
    """Return a text in lower case, with the letters that become one of ASCII in another case (Unicode, CaseFolding)."""
    return text.replace("\u017f", "s").replace("\u0131", "i").replace("\u0130", "i").lower()


def _is_inert(element: re.Match[str], *, cut_off: bool) -> bool:
    """Whether an element has only attributes that run nothing, in a form that has one reading."""
    text, position, name = element.string, element.end(), element[1].lower()
    relations: set[str] = set()
    while (found := _ATTRIBUTE.match(text, position)) is not None:
        value = found["double"] or found["single"] or found["bare"] or ""
        if not _is_inert_attribute(name, found["name"].lower(), value):
            return False
        if found["name"].lower() == "rel":
            relations.update(value.lower().split())
        position = found.end()
    if cut_off and (found := _CUT_OFF_VALUE.match(text, position)) is not None:
        value = found["double"] or found["single"] or ""
        if found["name"].lower() == "rel" or not _is_inert_attribute(
            name, found["name"].lower(), value, _INERT_URL_START
        ):
            return False
        return relations <= _INERT_RELATIONS
    if _TAG_END.match(text, position) is None:
        return False
    return name != "link" or (bool(relations) and relations <= _INERT_RELATIONS)


def _is_inert_attribute(element: str, name: str, value: str, url: re.Pattern[str] = _INERT_URL) -> bool:
    if name.startswith(("data-", "aria-")):
        return True
    return name in _INERT_ATTRIBUTES[element] and (
        name not in {"src", "href"} or url.match(value) is not None
    )


def is_whole(text: str) -> bool:
    """Whether a reader of markup is between elements after ``text``, so that what follows begins again outside of tags.

    A text with an element whose content is no markup (``style``, ``textarea``), or with a comment, is not.
    """
    return _WHOLE.fullmatch(text) is not None


def is_scripted(text: str) -> bool:
    """Whether a document holds script of its own; unlike ``is_active`` this ignores URLs of frames and links."""
    return _SCRIPTED.search(html.unescape(text)) is not None


def ends_in_handler(text: str) -> bool:
    """Whether markup ends in the name of an event handler, or in the start of one."""
    return _CUT_OFF_HANDLER.search(text) is not None


def is_running_name(text: str) -> bool:
    """Whether ``text`` names an event handler, or an element or attribute whose content runs."""
    return _RUNNING_NAME.match(text) is not None


def is_script_scheme(text: str) -> bool:
    """Whether ``text`` begins with a scheme that runs script, with or without its colon."""
    return _SCRIPT_SCHEME.match(text) is not None


def is_script_url(text: str) -> bool:
    """Whether ``text`` is a URL that runs script where it is followed or loaded."""
    return _SCRIPT_URL.match(text) is not None


def starts_like_script_url(text: str) -> bool:
    """Whether ``text`` is a ``data:`` URL, or starts like a scheme that runs script."""
    return _SCHEME_START.match(text) is not None


def names_script(text: str) -> bool:
    """Whether a script's URL with code in it stands anywhere in ``text``; ``javascript:void(0)`` has none."""
    return _SCRIPT_INSIDE.search(text) is not None


def begins_script_scheme(text: str) -> bool:
    """Whether ``text`` is the beginning of ``javascript:``, at least two characters long."""
    return len(text) >= _MIN_SCHEME and "javascript:".startswith(text.strip().lower())


def is_held_script_url(text: str) -> bool:
    """Whether a longer text, such as JSON, holds the scheme of a script's URL as its end or as a value."""
    return _SCHEME_AT_END.search(text.translate(_WITHOUT_DROPPED).lower()) is not None


def is_part_of_script_url(text: str) -> bool:
    """Whether a text holds the scheme of a script's URL, is the beginning of it, or its end and more."""
    plain = text.translate(_WITHOUT_DROPPED).lower()
    if _SCHEME_INSIDE.search(plain) or is_held_script_url(text):
        return True
    if len(plain) >= _MIN_START and "javascript:".startswith(plain):
        return True
    end, colon, rest = plain.partition(":")
    return bool(colon and end and _GOES_ON.match(rest)) and "javascript".endswith(end)


def holds_active_document(url: str) -> bool:
    """Whether a ``data:`` URL is a document with script in it; any base64 document counts."""
    document = _DOCUMENT_URL.match(url)
    return document is not None and bool(document[1] or is_active(urllib.parse.unquote(document[2])))


def runs_as_document(text: str) -> bool:
    """Whether markup, or the contents of a ``data:`` URL of any type, hold script; base64 is decoded."""
    found = _DATA_URL.match(text)
    if found is None:
        return is_active(text)
    contents = urllib.parse.unquote(found[2])
    if found[1]:
        with contextlib.suppress(ValueError):
            contents = base64.b64decode(contents + "===").decode("latin-1")
    return is_active(contents)


def is_disguised(text: str) -> bool:
    """Whether ``text`` may hold script that shows only when it is read as XML or in another encoding."""
    return _XML_SCRIPT.search(text) is not None or _OTHER_ENCODING.search(text) is not None
