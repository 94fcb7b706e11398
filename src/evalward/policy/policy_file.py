"""Load a policy file. Anything but a valid policy raises PolicyError: fail closed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from evalward.errors import Code, CodedError
from evalward.policy.documents import DocumentError, read_regular_file, read_toml, read_yaml
from evalward.policy.issues import Issue, issues_of
from evalward.policy.line_numbers import Places
from evalward.policy.model import Policy

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from evalward.policy.issues import Lines

MAX_FILE_BYTES = 1024 * 1024
_READERS = {
    ".yaml": (read_yaml, Places.of_yaml),
    ".yml": (read_yaml, Places.of_yaml),
    ".toml": (read_toml, Places.of_toml),
}


class FileRefusedError(CodedError):
    """An invalid file of the operator's: ``source`` names it, ``issues`` are all its errors."""

    def __init__(self, code: Code, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(
            code,
            f"{source}: " + "; ".join(map(str, issues)),
            details={
                "file": source,
                "issues": [issue.as_json() for issue in issues],
            },
        )
        self.source = source
        self.issues = tuple(issues)


class PolicyError(FileRefusedError):
    """An invalid policy, with all its errors (POLICY_INVALID)."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(Code.POLICY_INVALID, source, issues)


class Document(NamedTuple):
    """The content of a file: plain data, and the lines of its values."""

    data: object
    text: str
    places: Callable[[str], Places]

    def line_of(self, path: Sequence[str | int]) -> int | None:
        """Return the line of a value; the text is searched on the first call."""
        return self.places(self.text).line_of(path)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Return the policy in the YAML or TOML file at ``path``; raise PolicyError."""
    file = Path(path)
    document = read_document(file, PolicyError, empty="a mapping with api_version")
    return parse_policy(document.data, source=str(file), lines=document.line_of)


def read_document(
    file: Path, refusal: Callable[[str, Sequence[Issue]], FileRefusedError], *, empty: str
) -> Document:
    """Return the content of the YAML or TOML file ``file``; raise ``refusal`` with its name and issues.

    ``empty`` says what a file without any content should hold.
    """
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise refusal(str(file), [Issue("", "unknown kind of file", ", ".join(_READERS))])
    try:
        text = read_regular_file(file, MAX_FILE_BYTES).decode("utf-8")
        if not text.strip():
            raise refusal(str(file), [Issue("", "empty", empty)])
        return Document(read[0](text), text, read[1])
    except OSError as error:
        raise refusal(str(file), [Issue("", error.strerror or "cannot be read")]) from None
    except UnicodeDecodeError as error:
        raise refusal(str(file), [Issue("", f"byte {error.start} is not UTF-8", "UTF-8")]) from None
    except DocumentError as error:
        raise refusal(str(file), [Issue("", str(error))]) from None


def parse_policy(document: object, *, source: str, lines: Lines | None = None) -> Policy:
    """Return the policy that plain data describes; ``source`` names it in the PolicyError, ``lines`` its lines."""
    if not isinstance(document, dict) or not document:
        raise PolicyError(source, [Issue("", "no policy in it", "a mapping with api_version")])
    if "api_version" not in document:
        raise PolicyError(source, [Issue("api_version", "missing", "evalward/v1")])
    try:
        return Policy.model_validate(document)
    except ValidationError as error:
        raise PolicyError(source, issues_of(error, Policy, lines)) from None
