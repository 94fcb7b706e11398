"""The declaration of a tool that no manifest knows, from one call of it: what looks like code is denied.

A door in front of a client sees calls of servers that the operator has not named. It has neither their schemas nor
their descriptions, so the names of the tool and of the fields decide, as in a drafted manifest. Nothing is judged as
code there, since no manifest says where it would run: fields that look like code, and URLs that are code or documents,
are forbidden; launch values must be on the policy's list. Other URLs and paths pass, since many servers are there for
them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from evalward.errors import Code, CodedError, Repair
from evalward.field_names import folded
from evalward.tools.draft import EVAL_NAME
from evalward.tools.kinds import FieldKind
from evalward.tools.likely import likely_kind, words_of
from evalward.tools.schema_places import root_place
from evalward.tools.tool import SOURCE_FIELDS, OperationType, Tool
from evalward.tools.url_schemes import readings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.tools.schema_places import Place

_NO_EVAL: Final = re.compile(r"retrieval|medieval|primeval", re.IGNORECASE)
_OFTEN_DATA: Final = frozenset({"body", "source"})
"""Source fields whose names mean something else in most servers: the text of an issue, a language."""
_CODE_LIKE: Final = frozenset(folded(name) for name in SOURCE_FIELDS if name not in _OFTEN_DATA)
_MARKUP_WORDS: Final = frozenset({"html", "markup", "srcdoc", "svg"})
_DOCUMENTS: Final = frozenset({"javascript", "vbscript", "data", "blob"})
"""Schemes of URLs that are a program or a document of the caller's."""
_DECLARABLE: Final = re.compile(r"[^~/\x00-\x1f*]{1,128}")
_MOST: Final = 64


def unknown_tool(name: str, arguments: Mapping[str, Any]) -> Tool:
    """Return the declaration under which a call of ``name`` with ``arguments`` is judged.

    Raise CodedError (TOOL_UNKNOWN) for a tool whose name says that it evaluates: it needs a manifest.
    """
    if EVAL_NAME.search(_NO_EVAL.sub("", name)):
        raise CodedError(
            Code.TOOL_UNKNOWN,
            f"The tool {name} seems to evaluate code, and no manifest says where.",
            repair=Repair(field="/tool"),
        )
    forbidden: dict[str, None] = {}
    kinds: dict[str, str] = {}
    for key, value in _members(arguments):
        kind = _kind(name, key, value)
        if kind is FieldKind.SOURCE:
            forbidden[_declarable(key)] = None
        elif kind is not None and _DECLARABLE.fullmatch(key):
            kinds[key] = kind.value
        if len(forbidden) > _MOST or len(kinds) > _MOST:
            raise CodedError(
                Code.INVALID_INPUT,
                f"The call of {name} has too many fields that look like code or URLs.",
                repair=Repair(field="/arguments_json"),
            )
    return Tool.model_validate(
        {
            "name": name,
            "operation_type": OperationType.COMMAND,
            "forbidden_fields": tuple(forbidden),
            "fields": kinds,
        }
    )


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            yield from each.items()
            todo += each.values()
        elif isinstance(each, list):
            todo += each


def _kind(tool: str, key: str, value: Any) -> FieldKind | None:
    """Return SOURCE for a field that looks like code, LAUNCH as in a draft; None: data."""
    if value is None or value in ("", [], {}):
        return None
    if folded(key) in _CODE_LIKE and _has_text(value):
        return FieldKind.SOURCE
    kind = likely_kind(tool, key, _place(value))
    if kind is FieldKind.MARKUP:
        return FieldKind.SOURCE if _MARKUP_WORDS & {*words_of(key)} else None
    if kind is FieldKind.SOURCE:
        return kind if _has_text(value) else None
    if kind is FieldKind.URL:
        return FieldKind.SOURCE if any(map(_is_document, _texts(value))) else None
    return kind if kind is FieldKind.LAUNCH else None


def _is_document(text: str) -> bool:
    return any(each is not None and each.scheme in _DOCUMENTS for each in readings(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _place(value: Any) -> Place:
    """Return the place of a field whose schema would describe ``value``."""
    kinds = {dict: "object", list: "array", bool: "boolean", str: "string"}
    return root_place({"type": kinds.get(type(value), "number")})


def _has_text(value: Any) -> bool:
    return isinstance(value, (str, dict, list))


def _declarable(key: str) -> str:
    """Return ``key`` as a forbidden field; a name that no manifest can have is forbidden as a whole call."""
    if _DECLARABLE.fullmatch(key):
        return key
    raise CodedError(
        Code.TOOL_FIELD_FORBIDDEN,
        "The call has a field that looks like code, under a name that no manifest can declare.",
        repair=Repair(field="/arguments_json"),
    )
