"""The field types of a policy: what each value may be, and the message when it is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, LiteralString, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from evalward.guard.binding import BINDING_KINDS, BindingKind, similar_kinds
from evalward.guard.constructs.labels import CONSTRUCT_LABELS, is_known_label
from evalward.guard.rules import SEED_KEYWORDS
from evalward.guard.target import TARGET_ALIASES, Target, parse_target
from evalward.identifiers import CALLER_ID, KEYWORD_ID, SHA256_HEX

PAYLOAD_PRESETS: Mapping[str, int] = MappingProxyType(
    {"agent": 64 * 1024, "default": 128 * 1024, "library": 1024 * 1024}
)

# The bindings of each sink apart from its arguments (guard.md, Host bindings); two have none.
BINDING_PRESETS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "electron-stagewright": {"electronApp": "electron", "arg": "json"},
        "playwright-evaluate": {"arg": "json"},
        "playwright-run-code": {"page": "playwright.page"},
        "selenium-execute-script": {},
        "cdp-runtime-evaluate": {},
    }
)

MAX_PAYLOAD_BYTES = 8 * 1024 * 1024

BINDING_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,63}")
_TOOL_NAME = re.compile(CALLER_ID)
_SHA256 = re.compile(SHA256_HEX)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_KEYWORD_ID = re.compile(KEYWORD_ID)

# A binding says what a *name* holds, so one of these would declare a capability away.
RESERVED_BINDINGS = frozenset(
    {
        *("globalThis", "global", "window", "self", "top", "parent", "frames", "document"),
        *("process", "require", "module", "exports", "eval", "Function", "Reflect", "Object"),
        *("setTimeout", "setInterval", "setImmediate", "Proxy", "WebAssembly", "importScripts"),
    }
)

# Reading one of these yields a capability or the whole environment; `constructs` may still permit it.
CAPABILITY_READS = frozenset(
    {
        *("_eval", "_kill", "_linkedBinding", "abort", "binding", "chdir", "constructor", "dlopen", "env"),
        *("exit", "execve", "getBuiltinModule", "kill", "mainModule", "reallyExit", "crash", "hang"),
        *("parentPort", "send", "emit", "on", "once", "stdin", "stdout", "stderr", "__proto__"),
    }
)


def problem(kind: LiteralString, message: str, allowed: str) -> PydanticCustomError:
    """Return a validation error; ``allowed`` says what the field accepts."""
    return PydanticCustomError(kind, "{problem}", {"problem": message, "allowed": allowed})


def _matching(pattern: re.Pattern[str], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if pattern.fullmatch(text) is None:
            raise problem("pattern", f"not {what}", f"text that matches {pattern.pattern}")
        return text

    return AfterValidator(check)


def _label(text: str) -> str:
    if not is_known_label(text):
        labels = ", ".join(sorted(CONSTRUCT_LABELS))
        raise problem("label", "not a construct label", f"{labels}, process.<member>")
    return text


def _binding_name(text: str) -> str:
    if text in RESERVED_BINDINGS:
        raise problem("binding", "this name is a global of the realm and cannot be bound", "any other name")
    return text


def _binding_kind(text: str) -> str:
    if text not in BINDING_KINDS:
        meant = similar_kinds(text)
        raise problem(
            "binding",
            "not a kind of binding" + (f"; did you mean {meant[0]}?" if meant else ""),
            ", ".join(BindingKind),
        )
    return text


def _process_read(text: str) -> str:
    if text in CAPABILITY_READS:
        raise problem(
            "read",
            "reading this member yields a capability",
            "harmless members; constructs.'process.<member>' decides about the rest",
        )
    return text


def _target(name: Any) -> Any:
    if isinstance(name, Target) or not isinstance(name, str):
        return name
    try:
        return parse_target(name)
    except ValueError:
        raise problem("target", "unknown target", ", ".join([*Target, "page"])) from None


def _payload_bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in PAYLOAD_PRESETS:
        raise problem("preset", "unknown preset", ", ".join([*PAYLOAD_PRESETS, "a number of bytes"]))
    return PAYLOAD_PRESETS[value]


def _seed_keyword(text: str) -> str:
    if text not in SEED_KEYWORDS:
        raise problem("keyword", "not a keyword of the default list", ", ".join(SEED_KEYWORDS))
    return text


def _one_name_per_target(sections: Any) -> Any:
    if isinstance(sections, Mapping):
        names = [TARGET_ALIASES.get(name, name) for name in sections]
        if len(set(names)) < len(names):
            raise problem("target", "a target is named twice (page is renderer)", "each target once")
    return sections


def _plain_text(text: str) -> str:
    if not text.isprintable():
        raise problem("text", "holds a character that cannot be printed", "printable text")
    return text


def _sorted(items: frozenset[str]) -> list[str]:
    return sorted(items)


_K = TypeVar("_K")
_V = TypeVar("_V")


def _frozen(items: Mapping[_K, _V]) -> Mapping[_K, _V]:
    return MappingProxyType(dict(items))


def _binding_preset(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in BINDING_PRESETS:
        raise problem(
            "preset", "unknown preset", ", ".join([*BINDING_PRESETS, "a mapping of names to types"])
        )
    return dict(BINDING_PRESETS[value])


FROZEN = AfterValidator(_frozen)
AS_DICT = PlainSerializer(dict)

ONE_NAME_PER_TARGET = BeforeValidator(_one_name_per_target)
TargetName = Annotated[Target, BeforeValidator(_target, json_schema_input_type=Target | Literal["page"])]
Label = Annotated[StrictStr, AfterValidator(_label)]
BindingName = Annotated[
    StrictStr, _matching(BINDING_NAME, "an ASCII identifier"), AfterValidator(_binding_name)
]
BindingValue = Annotated[
    StrictStr, AfterValidator(_binding_kind), WithJsonSchema({"type": "string", "enum": [*BindingKind]})
]
Bindings = Annotated[
    Mapping[BindingName, BindingValue],
    BeforeValidator(
        _binding_preset,
        json_schema_input_type=Mapping[BindingName, BindingValue] | Literal[tuple(BINDING_PRESETS)],
    ),
    FROZEN,
    AS_DICT,
]
KeywordId = Annotated[StrictStr, _matching(_KEYWORD_ID, "a keyword id")]
SeedKeyword = Annotated[StrictStr, AfterValidator(_seed_keyword)]
Sha256 = Annotated[StrictStr, _matching(_SHA256, "a whole SHA-256 in lower-case hex")]
ToolName = Annotated[StrictStr, _matching(_TOOL_NAME, "a tool's name")]
PlainText = Annotated[StrictStr, Field(min_length=1, max_length=512), AfterValidator(_plain_text)]
KeywordText = Annotated[StrictStr, Field(min_length=1, max_length=256), AfterValidator(_plain_text)]
ProcessReads = Annotated[
    frozenset[
        Annotated[StrictStr, _matching(BINDING_NAME, "an ASCII identifier"), AfterValidator(_process_read)]
    ],
    PlainSerializer(_sorted),
]
EnvNames = Annotated[
    frozenset[Annotated[StrictStr, _matching(_ENV_NAME, "the name of an environment variable")]],
    PlainSerializer(_sorted),
]
_PresetOrBytes = Literal["agent", "default", "library"] | Annotated[int, Field(ge=1, le=MAX_PAYLOAD_BYTES)]
PayloadBytes = Annotated[
    StrictInt,
    Field(ge=1, le=MAX_PAYLOAD_BYTES),
    BeforeValidator(_payload_bytes, json_schema_input_type=_PresetOrBytes),
]
