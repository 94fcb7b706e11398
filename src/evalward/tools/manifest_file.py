"""Load a manifest file. Anything but a valid manifest raises ManifestError, and the server does not start."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from evalward.errors import Code, CodedError
from evalward.guard.target import Shape, Target
from evalward.policy.documents import DocumentError, read_regular_file, read_yaml
from evalward.policy.issues import Issue, words_of
from evalward.policy.line_numbers import Places
from evalward.policy.policy_file import FileRefusedError
from evalward.tools.manifest import Manifest
from evalward.tools.schema_check import PROVEN
from evalward.tools.strict_json import read_arguments
from evalward.tools.tool import OperationType

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

    from evalward.policy.issues import Lines

MAX_FILE_BYTES = 4 * 1024 * 1024
_MAX_NESTING = 64
_ALLOWED = {
    "operation_type": ", ".join(OperationType),
    "target": ", ".join([*Target, "page"]),
    "shape": ", ".join(Shape),
    "api_version": "evalward/v1",
    "tools": "a list of tools",
    "name": "the tool's name",
}


_PLACES: Final = {".yaml": Places.of_yaml, ".yml": Places.of_yaml, ".json": Places.of_json}


class ManifestError(FileRefusedError):
    """An invalid manifest, with all its errors (CONFIG_INVALID)."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(Code.CONFIG_INVALID, source, issues)


def read_manifest_file(path: str | os.PathLike[str], *, has_proven_schemas: bool = False) -> Manifest:
    """Return the manifest in the YAML or JSON file at ``path``; raise ManifestError.

    ``has_proven_schemas``: the input schemas are not checked, which takes a second, since a test has checked them.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in _PLACES:
        raise ManifestError(str(file), [Issue("", "unknown kind of file", ", ".join(_PLACES))])
    try:
        document, text = _document(file, suffix)
    except OSError as error:
        raise ManifestError(str(file), [Issue("", error.strerror or "cannot be read")]) from None
    except UnicodeDecodeError as error:
        raise ManifestError(str(file), [Issue("", f"byte {error.start} is not UTF-8", "UTF-8")]) from None
    except DocumentError as error:
        raise ManifestError(str(file), [Issue("", str(error))]) from None
    except CodedError as error:
        raise ManifestError(str(file), [Issue("", error.message, "one JSON object")]) from None
    # Computed once, and only for an invalid file.
    places = cache(lambda: _PLACES[suffix](text))
    return parse_manifest(
        document,
        source=str(file),
        lines=lambda path: places().line_of(path),
        has_proven_schemas=has_proven_schemas,
    )


def parse_manifest(
    document: object, *, source: str, lines: Lines | None = None, has_proven_schemas: bool = False
) -> Manifest:
    """Return the manifest that plain data describes; ``source`` names it in the ManifestError, ``lines`` its lines.

    ``has_proven_schemas`` is as in ``read_manifest_file``.
    """
    if not isinstance(document, dict):
        raise ManifestError(source, [Issue("", "no manifest in it", "a mapping with api_version and tools")])
    try:
        return Manifest.model_validate(document, context=PROVEN if has_proven_schemas else None)
    except ValidationError as error:
        found = [_issue(item, document, lines) for item in error.errors(include_url=False)]
        raise ManifestError(source, sorted(found, key=lambda issue: issue.line or 0)) from None


def _document(file: Path, suffix: str) -> tuple[object, str]:
    data = read_regular_file(file, MAX_FILE_BYTES)
    if not data.strip():
        raise DocumentError("empty")
    if suffix == ".json":
        return read_arguments(data, any_integer=True), data.decode("utf-8")
    return read_yaml(text := data.decode("utf-8"), max_nesting=_MAX_NESTING), text


def _issue(error: ErrorDetails, document: dict[Any, Any], lines: Lines | None) -> Issue:
    path = [step for step in error["loc"] if step != "[key]"]
    if (about := error.get("ctx", {}).get("field")) is not None:
        path += str(about).split(".", 1)
    problem, allowed = words_of(error, path, Manifest)
    if error["type"] == "missing":
        problem = "missing"
    name = str(path[-1]) if path else ""
    line = lines(path) if lines else None
    tool = ""
    if len(path) > 1 and path[0] == "tools" and isinstance(path[1], int):
        tool = _tool_at(document, path[1])
        path = path[2:]
    field = ".".join(map(str, path))
    named = f"tool {tool}: {field}" if tool else field
    return Issue(named.removesuffix(": "), problem, allowed or _ALLOWED.get(name, ""), line)


def _tool_at(document: dict[Any, Any], index: int) -> str:
    entry = document["tools"][index]
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) and name.isprintable() and name else f"number {index}"
