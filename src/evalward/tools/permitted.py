"""Check the fields of a call without code against the policy: URLs, launch values and paths."""

from __future__ import annotations

import re
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from evalward.errors import Code, CodedError, Repair
from evalward.tools.kinds import FieldKind
from evalward.tools.url_schemes import denied_scheme

if TYPE_CHECKING:
    from evalward.policy.field_values import FieldsPolicy
    from evalward.tools.route import CallField
    from evalward.tools.tool import Tool

_SHOWN: Final = 64
# What WebDriver accepts as the path of a file, without a single slash: POSIX, drives, UNC (WebDriver §12.5.3).
_ABSOLUTE: Final = re.compile(r"/+[^/\s]|[A-Za-z]:[\\/]|\\\\")
BELOW_HERE: Final = "./"
"""The entry of ``paths`` that permits relative paths."""


def check_permitted(tool: Tool, field: CallField, policy: FieldsPolicy) -> None:
    """Raise CodedError for a URL, launch value or path in ``field`` that ``policy`` does not permit.

    TOOL_URL_DENIED or TOOL_VALUE_DENIED; the message never repeats the value.
    """
    text = field.code.decode()
    if field.kind is FieldKind.URL:
        _check_url(tool, field, text, policy)
    elif field.kind is FieldKind.LAUNCH:
        entry = _entry(field, text)
        if entry is None or entry not in policy.launch:
            raise _denied(tool, field, "launch value", policy.launch)
    elif field.kind is FieldKind.PATH and not (field.is_text and is_permitted_path(text, policy.paths)):
        raise _denied(tool, field, "path", policy.paths)
    elif field.kind is FieldKind.TYPED:
        for line in map(str.strip, text.split("\n")):  # as ChromeDriver does
            if _ABSOLUTE.match(line) and not is_permitted_path(line, policy.paths):
                raise _denied(tool, field, "path", policy.paths)


def _check_url(tool: Tool, field: CallField, text: str, policy: FieldsPolicy) -> None:
    scheme = denied_scheme(text, policy.url_schemes)
    if scheme is None:
        return
    why = (
        "is no URL that could be judged"
        if not scheme
        else "is a URL of a scheme that the policy does not permit"
    )
    if scheme == "about":
        why = "is an about: URL other than about:blank"
    raise CodedError(
        Code.TOOL_URL_DENIED,
        f"Evalward policy: the field {field.path} of {tool.name} {why} (fields.url_schemes).",
        repair=Repair(field=field.path, allowed=sorted(policy.url_schemes)),
    )


def _entry(field: CallField, text: str) -> str | None:
    """Return the value's name in a policy: ``--flag``, or its members and the value, ``env.LANG=C``.

    None for an ambiguous name.
    """
    if not field.names:
        return text
    if any("." in name or "=" in name or not name for name in field.names):
        return None
    return f"{'.'.join(field.names)}={text}"


def is_permitted_path(text: str, permitted: frozenset[str]) -> bool:
    """Return whether ``text`` is listed, or is below a listed directory.

    The file system is not consulted: an attacker who can place symbolic links in a permitted directory can leave it.
    """
    if text in permitted:
        return True
    odd = any(character < " " or character in "\\\x7f" for character in text)
    if odd or ".." in text.split("/"):
        return False
    if not text.startswith("/"):
        # `~`, `C:` and `file:` are roots to some servers, and `-` begins an option of a command.
        return BELOW_HERE in permitted and text[0] not in "~-" and ":" not in text.split("/", maxsplit=1)[0]
    whole = "/" + normpath(text).lstrip("/")
    return any(whole.startswith(each) for each in permitted if each.endswith("/") and each.startswith("/"))


def _denied(tool: Tool, field: CallField, what: str, permitted: frozenset[str]) -> CodedError:
    where = "fields.launch" if field.kind is FieldKind.LAUNCH else "fields.paths"
    return CodedError(
        Code.TOOL_VALUE_DENIED,
        f"Evalward policy: the field {field.path} of {tool.name} holds a {what} that the policy does not list"
        f" ({where}).",
        repair=Repair(field=field.path, allowed=sorted(permitted)[:_SHOWN]),
    )
