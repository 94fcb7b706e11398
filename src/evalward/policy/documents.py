"""YAML and TOML text as plain data; ambiguous documents are rejected."""

from __future__ import annotations

import os
import stat
import tomllib
from typing import TYPE_CHECKING, Any, Protocol

import yaml

from evalward.file_calls import BINARY, CLOSE_ON_EXEC, NO_WAIT

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

_MAX_NESTING = 16


class _Mark(Protocol):
    """A place in the text; both of PyYAML's parsers have a class of their own for it. Counts from 0."""

    line: int
    column: int


class DocumentError(ValueError):
    """Text that is not one unambiguous document; the message says where."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader whose mappings have only text keys, each once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: set[str] = set()
        for key, _ in node.value:
            where = _place(key.start_mark)
            if key.tag != "tag:yaml.org,2002:str":
                raise DocumentError(f"{where}: a key must be plain text; put it in quotes")
            if key.value in seen:
                raise DocumentError(f"{where}: the key {key.value} is given twice")
            seen.add(key.value)
        return dict(super().construct_mapping(node, deep=deep))


def read_regular_file(file: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file of at most that size; raise OSError or DocumentError."""
    descriptor = os.open(file, os.O_RDONLY | CLOSE_ON_EXEC | NO_WAIT | BINARY)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DocumentError("not a regular file")
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise DocumentError(f"too large (allowed: {max_bytes} bytes)")
    return data


def read_yaml(text: str, *, max_nesting: int = _MAX_NESTING) -> object:
    """Return the one document in ``text``.

    Raise DocumentError for bad YAML, an alias (a few lines of aliases can expand to gigabytes), a duplicate or
    non-text key, a tag, a second document or nesting beyond any policy.
    """
    try:
        _check_events(text, max_nesting)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader, stricter
    except yaml.MarkedYAMLError as error:
        raise DocumentError(f"{_place(error.problem_mark)}: {error.problem or 'not valid YAML'}") from None
    except yaml.YAMLError as error:
        raise DocumentError(f"not valid YAML: {type(error).__name__}") from None
    except ValueError as error:
        if isinstance(error, DocumentError):
            raise
        raise DocumentError("a number or a date is out of range") from None


def _check_events(text: str, max_nesting: int) -> None:
    nesting = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        where = _place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise DocumentError(f"{where}: aliases are not accepted")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        elif isinstance(event, yaml.CollectionStartEvent):
            nesting += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            nesting -= 1
        if nesting > max_nesting:
            raise DocumentError(f"{where}: nested deeper than {max_nesting} levels")
        if documents > 1:
            raise DocumentError(f"{where}: a second document")


def _place(mark: _Mark | None) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"


def read_toml(text: str) -> object:
    """Return the document in ``text``; raise DocumentError for bad TOML, duplicate keys included."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise DocumentError(str(error)) from None
    except RecursionError:
        raise DocumentError("nested deeper than the parser supports") from None
