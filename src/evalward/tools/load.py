"""A manifest file as a Manifest. Whatever is not surely valid raises ManifestError, and the server does not start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evalward.errors import Code, CodedError
from evalward.guard.target import Shape, Target
from evalward.policy.documents import DocumentError, read_regular_file, read_yaml
from evalward.policy.load import FileRefusedError, Issue
from evalward.tools.arguments import read_arguments
from evalward.tools.manifest import Manifest, OperationType, Tool

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

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


class ManifestError(FileRefusedError):
    """A manifest that cannot route, with every reason (CONFIG_INVALID)."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(Code.CONFIG_INVALID, source, issues)


def load_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Return the manifest in the YAML or JSON file at ``path``; raise ManifestError."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in {".yaml", ".yml", ".json"}:
        raise ManifestError(str(file), [Issue("", "unknown kind of file", ".yaml, .yml, .json")])
    try:
        document = _document(file, suffix)
    except OSError as error:
        raise ManifestError(str(file), [Issue("", error.strerror or "cannot be read")]) from None
    except UnicodeDecodeError as error:
        raise ManifestError(str(file), [Issue("", f"byte {error.start} is not UTF-8", "UTF-8")]) from None
    except DocumentError as error:
        raise ManifestError(str(file), [Issue("", str(error))]) from None
    except CodedError as error:
        raise ManifestError(str(file), [Issue("", error.message, "one JSON object")]) from None
    return parse_manifest(document, source=str(file))


def parse_manifest(document: object, *, source: str) -> Manifest:
    """Return the manifest that plain data describes; ``source`` names it in the ManifestError."""
    if not isinstance(document, dict):
        raise ManifestError(source, [Issue("", "no manifest in it", "a mapping with api_version and tools")])
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise ManifestError(source, [_issue(item, document) for item in found]) from None


def _document(file: Path, suffix: str) -> object:
    data = read_regular_file(file, MAX_FILE_BYTES)
    if not data.strip():
        raise DocumentError("empty")
    return (
        read_arguments(data)
        if suffix == ".json"
        else read_yaml(data.decode("utf-8"), max_nesting=_MAX_NESTING)
    )


def _issue(error: ErrorDetails, document: dict[Any, Any]) -> Issue:
    loc = [step for step in error["loc"] if step != "[key]"]
    context = error.get("ctx", {})
    tool = ""
    if len(loc) > 1 and loc[0] == "tools" and isinstance(loc[1], int):
        tool = _tool_at(document, loc[1])
        loc = loc[2:]
    if "field" in context:
        loc.append(context["field"])
    field = ".".join(map(str, loc))
    name = str(loc[-1]) if loc else ""
    allowed = context.get("allowed") or _ALLOWED.get(name) or context.get("expected") or ""
    message = error["msg"]
    if error["type"] == "extra_forbidden":
        message, allowed = "unknown field", ", ".join((Tool if tool else Manifest).model_fields)
    elif error["type"] == "missing":
        message = "missing"
    return Issue(f"tool {tool}: {field}" if tool else field, message, str(allowed))


def _tool_at(document: dict[Any, Any], index: int) -> str:
    entry = document["tools"][index]
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) and name.isprintable() and name else f"number {index}"
