"""The settings of ``evalward serve``: flag before environment before file before default.

The signature of the command is the only list of settings. The Pydantic model of the configuration file is derived
from it, so that settings and keys always correspond.
"""

from __future__ import annotations

import typing
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    create_model,
)
from typer.models import OptionInfo

from evalward.errors import Code
from evalward.policy.issues import Issue, issues_of
from evalward.policy.policy_file import FileRefusedError, read_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import typer

ACTIONS: Final = frozenset({"config", "print_config", "as_json"})
"""Options that are actions, not settings."""
_FILE_TYPES: Final[Mapping[Any, Any]] = {
    bool: StrictBool,
    float: StrictFloat,
    int: StrictInt,
    str: Annotated[str, Field(coerce_numbers_to_str=True)],
}


class Source(StrEnum):
    """The source of a setting, in order of precedence."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


class Setting(NamedTuple):
    """One setting in force: ``origin`` is the flag, the variable or the file that set it, "" for a default."""

    name: str
    value: Any
    source: Source
    origin: str


class ConfigError(FileRefusedError):
    """An invalid configuration file, with all its errors (CONFIG_INVALID)."""

    def __init__(self, source: str, issues: Sequence[Issue]) -> None:
        super().__init__(Code.CONFIG_INVALID, source, issues)


def options_of(command: Callable[..., None]) -> dict[str, tuple[Any, OptionInfo]]:
    """Return the type and the option of every setting that the signature of ``command`` has."""
    found: dict[str, tuple[Any, OptionInfo]] = {}
    for name, hint in typing.get_type_hints(command, include_extras=True).items():
        option = next(
            (each for each in getattr(hint, "__metadata__", ()) if isinstance(each, OptionInfo)), None
        )
        if option is not None and name not in ACTIONS:
            found[name] = (typing.get_args(hint)[0], option)
    return found


def file_model(command: Callable[..., None]) -> type[BaseModel]:
    """Return the model of a configuration file: a key for each setting of ``command``, and no other."""
    fields: dict[str, Any] = {}
    for name, (kind, option) in options_of(command).items():
        kinds = [each for each in typing.get_args(kind) or (kind,) if each is not type(None)]
        plain = kind if typing.get_origin(kind) is list else kinds[0]
        bounded = Field(default=None, ge=option.min, le=option.max, description=option.help)
        fields[name] = (_FILE_TYPES.get(plain, plain), bounded)
    return create_model("Configuration", __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def read_configuration(file: Path, command: Callable[..., None]) -> dict[str, Any]:
    """Return the settings that the YAML or TOML file ``file`` gives; raise ConfigError."""
    document = read_document(file, ConfigError, empty="settings")
    if not isinstance(document.data, dict):
        raise ConfigError(str(file), [Issue("", "no settings in it", "a mapping of settings")])
    model = file_model(command)
    try:
        return model.model_validate(document.data).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise ConfigError(str(file), issues_of(error, model, document.line_of)) from None


def settings_in_force(
    context: typer.Context, command: Callable[..., None], *, computed: Mapping[str, object]
) -> Iterator[Setting]:
    """Yield every setting of ``command`` as ``context`` holds it, with the defaults that are ``computed``.

    The value of a secret is the name of its file; the file is not read.
    """
    for name, (_, option) in options_of(command).items():
        told = context.get_parameter_source(name)
        source = _SOURCES.get(told.name if told is not None else "", Source.DEFAULT)
        origin = {
            Source.FLAG: f"--{name.replace('_', '-')}",
            Source.ENVIRONMENT: str(option.envvar),
            Source.FILE: str(context.params.get("config")),
        }.get(source, "")
        value = context.params[name]
        yield Setting(name, _plain(computed.get(name) if value is None else value), source, origin)


_SOURCES: Final = {
    "COMMANDLINE": Source.FLAG,
    "ENVIRONMENT": Source.ENVIRONMENT,
    "DEFAULT_MAP": Source.FILE,
}


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON data."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def as_text(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield a line for each setting: name, value, source."""
    shown = [(each.name, _shown(each.value), f"{each.source} {each.origin}".rstrip()) for each in settings]
    widths = [max(len(row[column]) for row in shown) for column in (0, 1)]
    for name, value, source in shown:
        yield f"{name:<{widths[0]}}  {value:<{widths[1]}}  {source}"


def as_object(settings: Sequence[Setting]) -> dict[str, Any]:
    """Return the object that ``--print-config --json`` prints."""
    return {
        each.name: {"value": each.value, "source": str(each.source), "origin": each.origin or None}
        for each in settings
    }


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(value) if isinstance(value, list) else str(value) or '""'
