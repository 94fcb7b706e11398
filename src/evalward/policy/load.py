"""A policy file as a Policy. Whatever is not surely a valid policy raises PolicyError: fail closed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from evalward.errors import Code, CodedError
from evalward.policy.documents import DocumentError, read_regular_file, read_toml, read_yaml
from evalward.policy.model import Policy

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from pydantic_core import ErrorDetails

MAX_FILE_BYTES = 1024 * 1024
_READERS = {".yaml": read_yaml, ".yml": read_yaml, ".toml": read_toml}
_TYPE_NAMES = {
    "bool_type": "true, false",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "path_type": "a path",
    "string_type": "text",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "tuple_type": "a list",
    "frozen_set_type": "a list",
}


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong: ``field`` is a dotted path ("" for the file itself)."""

    field: str
    problem: str
    allowed: str = ""

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        return f"{field}{self.problem}" + (f" (allowed: {self.allowed})" if self.allowed else "")


class FileRefusedError(CodedError):
    """A file of the operator's that is not in force: ``source`` names it, ``issues`` are all the reasons."""

    def __init__(self, code: Code, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(
            code,
            f"{source}: " + "; ".join(map(str, issues)),
            details={
                "file": source,
                "issues": [
                    {"field": issue.field, "problem": issue.problem, "allowed": issue.allowed}
                    for issue in issues
                ],
            },
        )
        self.source = source
        self.issues = tuple(issues)


class PolicyError(FileRefusedError):
    """A policy that is not in force, with every reason (POLICY_INVALID)."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(Code.POLICY_INVALID, source, issues)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Return the policy in the YAML or TOML file at ``path``; raise PolicyError."""
    file = Path(path)
    return parse_policy(
        read_document(file, PolicyError, empty="a mapping with api_version"), source=str(file)
    )


def read_document(
    file: Path, refusal: Callable[[str, Sequence[Issue]], FileRefusedError], *, empty: str
) -> object:
    """Return the plain data in the YAML or TOML file ``file``; raise ``refusal`` of its name and issues.

    ``empty`` says what a file without any content should hold.
    """
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise refusal(str(file), [Issue("", "unknown kind of file", ", ".join(_READERS))])
    try:
        text = read_regular_file(file, MAX_FILE_BYTES).decode("utf-8")
        if not text.strip():
            raise refusal(str(file), [Issue("", "empty", empty)])
        return read(text)
    except OSError as error:
        raise refusal(str(file), [Issue("", error.strerror or "cannot be read")]) from None
    except UnicodeDecodeError as error:
        raise refusal(str(file), [Issue("", f"byte {error.start} is not UTF-8", "UTF-8")]) from None
    except DocumentError as error:
        raise refusal(str(file), [Issue("", str(error))]) from None


def parse_policy(document: object, *, source: str) -> Policy:
    """Return the policy that plain data describes; ``source`` names it in the PolicyError."""
    if not isinstance(document, dict) or not document:
        raise PolicyError(source, [Issue("", "no policy in it", "a mapping with api_version")])
    if "api_version" not in document:
        raise PolicyError(source, [Issue("api_version", "missing", "evalward/v1")])
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        raise PolicyError(source, issues_of(error, Policy)) from None


def issues_of(error: ValidationError, model: type[BaseModel]) -> list[Issue]:
    """Return everything that ``model`` found wrong with a document, with what it would have taken instead."""
    return [_issue(item, model) for item in error.errors(include_url=False)]


def _issue(error: ErrorDetails, model: type[BaseModel]) -> Issue:
    context = error.get("ctx", {})
    if error["type"] == "extra_forbidden":
        fields = _fields_at(error["loc"][:-1], model)
        return Issue(_dotted(error["loc"]), "unknown field", ", ".join(fields))
    allowed = context.get("allowed") or context.get("expected") or _TYPE_NAMES.get(error["type"], "")
    bounds = [f"{sign} {context[name]}" for name, sign in (("ge", ">="), ("le", "<=")) if name in context]
    loc = [step for step in error["loc"] if step != "[key]"]
    return Issue(_dotted(loc), error["msg"], str(allowed) or " and ".join(bounds))


def _dotted(loc: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in loc)


def _fields_at(loc: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    """Return the field names of the model that a location in ``root`` leads to."""
    model: Any = root
    for step in loc:
        if isinstance(model, type) and issubclass(model, BaseModel) and step in model.model_fields:
            model = _model_in(model.model_fields[str(step)].annotation) or model
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
