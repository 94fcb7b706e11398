"""A corpus case, and how cases are read from ``.yaml`` and ``.jsonl`` files.

A YAML file holds a list of cases, a JSON Lines file one case a line; the fields are those of :class:`Case`.
Every error names the file, the case, the field and, where the values are a closed set, the allowed ones.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from evalward.guard.sinks import sinks
from evalward.guard.target import Profile, Shape, Target, parse_target
from evalward.policy.fields import BindingName, BindingValue  # noqa: TC001 - Pydantic reads the annotations
from evalward.policy.named_sink import asked_sink

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

SUFFIXES = (".yaml", ".yml", ".jsonl")


class CorpusError(ValueError):
    """A corpus that cannot be used; the message says where and why."""


class Expectation(StrEnum):
    """The verdict that the guard must give on a case."""

    BLOCK = "block"
    ALLOW = "allow"


def _as_target(name: Any) -> Any:
    return parse_target(name) if isinstance(name, str) else name


def _as_labels(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value or ()


class Case(BaseModel):
    """One payload and the verdict that it must get.

    ``expect`` is one verdict for every profile, or one per profile; a profile that such a mapping leaves out is not
    judged by this case. ``construct`` is the label, or the acceptable labels, that a block must name
    (:attr:`constructs`; empty when the case does not say). ``reaches`` is the capability that the payload reaches
    when it runs, ``twin`` the id of the most similar benign case. ``sink`` names what runs it, and so its target.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=200)]
    code: str
    target: Annotated[Target, BeforeValidator(_as_target, json_schema_input_type=Target | Literal["page"])]
    shape: Shape | None = None
    sink: str | None = None
    expect: Expectation | dict[Profile, Expectation]
    constructs: Annotated[
        tuple[str, ...], BeforeValidator(_as_labels, json_schema_input_type=str | tuple[str, ...])
    ] = Field(default=(), alias="construct")
    reaches: str | None = None
    twin: str | None = None
    source: str | None = None
    technique: str | None = None
    bindings: dict[BindingName, BindingValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """Take the target from the sink, and reject contradictions to it."""
        if not isinstance(data, dict) or not isinstance(data.get("sink"), str):
            return data
        given = {name: data.get(name) for name in ("target", "shape", "bindings")}
        return {**data, "target": asked_sink(data["sink"], **given).target}

    @field_validator("id")
    @classmethod
    def _id_is_printable(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("must be printable characters on one line")
        return value

    @field_validator("expect")
    @classmethod
    def _expects_something(cls, value: Expectation | dict[Profile, Expectation]) -> Any:
        if value == {}:
            raise ValueError(f"must name at least one profile; allowed: {', '.join(Profile)}")
        return value

    @property
    def run_text(self) -> str:
        """The text that is run: the code after the preprocessing of its sink, if it has one."""
        return self.code if self.sink is None else sinks()[self.sink].read(self.code)

    @property
    def run_shape(self) -> Shape | None:
        """The shape in which an engine runs the code as its sink would."""
        if self.sink is None:
            return self.shape
        sink = sinks()[self.sink]
        return sink.shape_of(sink.read(self.code))

    @property
    def payload(self) -> bytes:
        """The code in UTF-8; a lone surrogate is kept, so that the guard can deny it."""
        return self.code.encode("utf-8", "surrogatepass")

    def expected(self, profile: Profile) -> Expectation | None:
        """Return the verdict that this case expects under ``profile``, None if it expects none."""
        return self.expect.get(profile) if isinstance(self.expect, dict) else self.expect


def load_cases(paths: Iterable[Path]) -> tuple[Case, ...]:
    """Read every case of the given files and directories (searched recursively), in path order.

    Raises CorpusError for a path that is missing or of another kind, for text that is not YAML or JSON, for a
    case that does not fit the model, for an id that occurs twice, and when no case is found at all.
    """
    cases: list[Case] = []
    origin: dict[str, str] = {}
    for file in _files(paths):
        for place, raw in _read(file):
            case = case_of(place, raw)
            if case.id in origin:
                raise CorpusError(f"{place}: id: {case.id!r} is already used by {origin[case.id]}")
            origin[case.id] = place
            cases.append(case)
    if not cases:
        raise CorpusError(f"no case found; cases live in files named *{', *'.join(SUFFIXES)}")
    return tuple(cases)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    seen = set()
    for path in paths:
        if path.is_dir():
            found: Sequence[Path] = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        elif not path.exists():
            raise CorpusError(f"{path}: no such file or directory")
        elif path.suffix in SUFFIXES:
            found = [path]
        else:
            raise CorpusError(f"{path}: not a corpus file; allowed: {', '.join(SUFFIXES)}")
        for file in found:
            if (real := file.resolve()) not in seen:
                seen.add(real)
                yield file


def _read(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield (place, raw case) for every case of ``file``."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file}: cannot be read: {error}") from error
    if file.suffix == ".jsonl":
        # Not splitlines(): U+2028 is legal inside a JSON string and is itself a payload of interest.
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                place = f"{file}: line {number}"
                try:
                    yield place, json.loads(line, object_pairs_hook=_unique_pairs)
                except ValueError as error:
                    raise CorpusError(f"{place}: not a JSON object: {error}") from error
        return
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 - _Loader is a SafeLoader
    except yaml.YAMLError as error:
        raise CorpusError(f"{file}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, list):
        raise CorpusError(f"{file}: must hold a list of cases")
    for index, raw in enumerate(document):
        yield f"{file}: case {index + 1}", raw


_FIELDS = ", ".join(field.alias or name for name, field in Case.model_fields.items())


def case_of(place: str, raw: Any) -> Case:
    """Return the case of a mapping; raise CorpusError, which names ``place``, for one that is none."""
    if not isinstance(raw, dict):
        raise CorpusError(f"{place}: must be a mapping with the fields {_FIELDS}")
    if isinstance(name := raw.get("id"), str) and name.isprintable():
        place = f"{place} ({name})"
    try:
        return Case.model_validate(raw)
    except ValidationError as error:
        raise CorpusError("\n".join(sorted({f"{place}: {_complaint(e)}" for e in error.errors()}))) from error


_ALLOWED = {
    "shape": ", ".join(Shape),
    "expect": f"{', '.join(Expectation)}, or a mapping from {', '.join(Profile)} to these",
}


def _complaint(error: Any) -> str:
    """Say which field is wrong and what it may hold; never repeat the payload."""
    field = str(error["loc"][0]) if error["loc"] else "case"
    if error["type"] == "missing":
        return f"{field}: is required"
    if error["type"] == "extra_forbidden":
        return f"{field}: unknown field; allowed: {_FIELDS}"
    if field in _ALLOWED:
        return f"{field}: not a value of this field; allowed: {_ALLOWED[field]}"
    allowed = error.get("ctx", {}).get("allowed")
    said = error["msg"].removeprefix("Value error, ")
    return f"{field}: {said}" + (f"; allowed: {allowed}" if allowed else "")


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field occurs twice")
    return fields


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader, in C where PyYAML has libyaml, that rejects duplicate fields as YAML 1.2 does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Return the mapping; raise a YAMLError when a key occurs twice."""
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(names)) != len(names):
            raise yaml.constructor.ConstructorError(None, None, "a field occurs twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)
