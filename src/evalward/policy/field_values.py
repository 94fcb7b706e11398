"""The values that a policy permits in fields without code: schemes of URLs, launch values, paths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence  # noqa: TC003 - Pydantic reads the annotations
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, StrictStr

from evalward.policy.fields import problem

SCHEMES = ("http", "https", "about")
"""The schemes that a policy permits by default; of ``about`` only ``about:blank``."""
UNOPENABLE = (
    "view-source",
    "chrome",
    "devtools",
    "chrome-extension",
    "chrome-untrusted",
    "blob",
    "filesystem",
)
"""Schemes that no policy can permit: they lead into the browser itself, or hide another URL."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,31}")
_MAX = 256


def _scheme(text: str) -> str:
    if _SCHEME.fullmatch(text) is None:
        raise problem(
            "scheme", "not the scheme of a URL, in lower case and without a colon", ", ".join(SCHEMES)
        )
    if text in UNOPENABLE:
        raise problem("scheme", f"{text} URLs cannot be judged and are never permitted", "any other scheme")
    return text


def _path(text: str) -> str:
    if "\\" in text or "\0" in text or ".." in text.split("/"):
        raise problem("path", "a path that contains . or .. steps", "/srv/out/, ./, /srv/in/one.txt")
    return text


def _in_order(items: Sequence[str] | frozenset[str]) -> list[str]:
    return sorted(items)


_Text = Annotated[StrictStr, Field(min_length=1, max_length=1024)]
_Values = Annotated[frozenset[_Text], Field(max_length=_MAX), PlainSerializer(_in_order)]


class FieldsPolicy(BaseModel):
    """Permitted values by the kind of the field that a manifest declares.

    ``launch`` lists values as they are called in a denial: ``--headless``, ``env.LANG=C``, ``headless=true``.
    ``paths`` lists single paths, directories (with a slash at the end: all below them), and ``./`` for relative
    paths that stay below where the server resolves them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    url_schemes: Annotated[
        frozenset[Annotated[StrictStr, AfterValidator(_scheme)]],
        Field(max_length=_MAX),
        PlainSerializer(_in_order),
    ] = frozenset(SCHEMES)
    launch: _Values = frozenset()
    paths: Annotated[
        frozenset[Annotated[_Text, AfterValidator(_path)]], Field(max_length=_MAX), PlainSerializer(_in_order)
    ] = frozenset()

    def effective(self) -> Mapping[str, list[str]]:
        """Return the values as plain JSON data."""
        return {name: sorted(getattr(self, name)) for name in type(self).model_fields}
