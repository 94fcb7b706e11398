"""The payloads of ``evalward check``: files, directories, globs, and texts inside JSON documents."""

from __future__ import annotations

import glob
import json
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # nor this
from json.scanner import py_make_scanner  # type: ignore[attr-defined]  # typeshed does not have it
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from evalward.tools.pointer import fits, pointer_of, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Steps = tuple[str | int, ...]

SCRIPTS: Final = (".js", ".mjs", ".cjs")
"""The files of a directory that are payloads."""
DOCUMENTS: Final = (".json", ".jsonl", ".ndjson")
"""The files of a directory that are searched with ``--field``."""
_LINES: Final = (".jsonl", ".ndjson")
_SKIPPED: Final = "node_modules"


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload and where it is from.

    ``file`` is as the user names it. A text in a JSON document has its place there: the JSON Pointer ``field``
    (RFC 6901), and the line and column of its first quotation mark, in code points from 1.
    """

    file: str
    code: bytes
    field: str | None = None
    line: int = 1
    column: int = 1

    @property
    def name(self) -> str:
        """The file, followed by the place in it if it is a JSON document."""
        return self.file if self.field is None else f"{self.file}#{self.field}"


def files_of(paths: Iterable[str], *, documents: bool) -> tuple[Path, ...]:
    """Return the files that ``paths`` name, each once: files, patterns such as ``src/**/*.js``, and directories.

    A directory stands for its scripts (``SCRIPTS``), or with ``documents`` for its ``DOCUMENTS``, at any depth;
    hidden ones and ``node_modules`` are left out. Raise typer.BadParameter for a path that names no file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        named = [*_named(path, DOCUMENTS if documents else SCRIPTS)]
        if not named:
            raise typer.BadParameter(f"{path!r} names no file")
        found |= dict.fromkeys(named)
    return tuple(found)


def _named(path: str, suffixes: Sequence[str]) -> Iterator[Path]:
    given = Path(path)
    if given.is_dir():
        yield from _inside(given, suffixes)
    elif given.exists() or not glob.has_magic(path):
        yield given
    else:
        for each in sorted(glob.glob(path, recursive=True)):  # noqa: PTH207 - Path.glob takes no absolute pattern
            yield from _inside(Path(each), suffixes) if Path(each).is_dir() else [Path(each)]


def _inside(folder: Path, suffixes: Sequence[str]) -> Iterator[Path]:
    for each in sorted(folder.iterdir()):
        if each.name.startswith(".") or each.name == _SKIPPED:
            continue
        if each.is_dir() and not each.is_symlink():
            yield from _inside(each, suffixes)
        elif each.suffix in suffixes and each.is_file():
            yield each


def payloads_of(files: Iterable[Path], fields: Sequence[str]) -> Iterator[Payload]:
    """Yield the payload of each of ``files``, or with ``fields`` the texts at these places of JSON documents.

    A field is ``arguments.code``, with ``*`` for any element, or a JSON Pointer. Files named ``*.jsonl`` or
    ``*.ndjson`` have a document a line. Raise typer.BadParameter for a file that cannot be read or is not JSON,
    for a place that holds no text, and if no document has any of the fields.
    """
    patterns = [steps_of(each) if each.startswith("/") else tuple(each.split(".")) for each in fields]
    found = False
    for file in files:
        code = _read(file)
        if not patterns:
            yield Payload(str(file), code)
            continue
        for payload in _texts(file, code, patterns):
            found = True
            yield payload
    if patterns and not found:
        raise typer.BadParameter(f"no document has the field {' or '.join(fields)}")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from None


def _texts(file: Path, content: bytes, patterns: Sequence[tuple[str, ...]]) -> Iterator[Payload]:
    try:
        text = content.decode("utf-8")
        documents = text.split("\n") if file.suffix in _LINES else [text]
        for number, document in enumerate(documents):
            if not document.strip():
                continue
            for steps, value in _places(_DECODER.decode(document), patterns):
                field = pointer_of(steps)
                if not isinstance(value, _Text):
                    raise typer.BadParameter(f"{file}: {field} holds no text")
                before = document[: value.begin]
                yield Payload(
                    str(file),
                    value.encode("utf-8", "surrogatepass"),
                    field if len(documents) == 1 else f"{number + 1}{field}",
                    line=number + before.count("\n") + 1,
                    column=len(before) - before.rfind("\n"),
                )
    except (ValueError, RecursionError):
        raise typer.BadParameter(f"{file} is not JSON in UTF-8") from None


def _places(
    value: Any, patterns: Sequence[tuple[str, ...]], steps: Steps = ()
) -> Iterator[tuple[Steps, Any]]:
    if any(fits(pattern, steps) for pattern in patterns):
        yield steps, value
        return
    if not any(len(pattern) > len(steps) and fits(pattern[: len(steps)], steps) for pattern in patterns):
        return
    members: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for step, member in members:
        yield from _places(member, patterns, (*steps, step))


class _Text(str):
    """A string of a JSON document, with the offset of its first quotation mark in code points."""

    __slots__ = ("begin",)
    begin: int


def _string(document: str, begin: int, strict: bool = True) -> tuple[str, int]:  # noqa: FBT001, FBT002
    value, end = scanstring(document, begin, strict)
    text = _Text(value)
    text.begin = begin - 1
    return text, end


class _Decoder(json.JSONDecoder):
    """A decoder whose strings know their place.

    It rejects a name that occurs twice: one of the two values would not be judged.
    """

    def __init__(self) -> None:
        super().__init__(object_pairs_hook=_unique)
        self.parse_string = _string
        self.scan_once = py_make_scanner(self)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice")
    return members


_DECODER: Final = _Decoder()
