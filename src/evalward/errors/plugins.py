"""Codes of plugins: a namespace for each plugin, in addition to the closed table of this package (contract.md §1).

A plugin's code is ``namespace.CODE`` wherever it appears. Definitions are checked at registration, so that every
registered code is complete.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evalward.codes import Code
from evalward.errors.coded import CodedError
from evalward.errors.registry import PLUGIN_ROWS, REGISTRY, Category, Cause, ErrorRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.errors.self_repair import Repair

FIRST_NUMBER: Final = 4000
"""Lower numbers belong to this package or are reserved (seed 004)."""
_NAMESPACE = re.compile(r"[a-z][a-z0-9_]{0,31}")
_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_NEEDED: Final = ("number", "category", "cause", "http", "retryable", "hint")
_OPTIONAL: Final = ("recovery_hints", "next_actions")
_HTTP = range(400, 600)
_DEFAULTS: Final = {"category": Category.INTERNAL, "cause": Cause.SYSTEM, "http": 500, "retryable": False}
_RANGES: dict[str, range] = {}
"""The number range of each domain, unused numbers included."""
_LOCK = threading.Lock()


class CodesRefusedError(ValueError):
    """Codes that cannot be registered; the message names the code and what is wrong with it."""


class UnknownSymbolError(LookupError):
    """A symbol that its domain does not define; the message lists the defined ones."""


def register_error_codes(namespace: str, codes: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Register every one of ``codes`` under ``namespace`` and return their full names, or register none.

    A definition has ``number`` (from ``FIRST_NUMBER``), ``category``, ``cause``, ``http``, ``retryable`` and ``hint``,
    and may have ``recovery_hints`` and ``next_actions``. Raise CodesRefusedError for a namespace or number in use or
    in the range of a domain, for a malformed name, and for a missing, unknown or malformed field.
    """
    return tuple(row.code for row in _registered(namespace, codes, None))


def _registered(
    namespace: str, codes: Mapping[str, Mapping[str, Any]], numbers: range | None
) -> list[ErrorRow]:
    if _NAMESPACE.fullmatch(namespace) is None:
        raise CodesRefusedError(f"{namespace!a} is no namespace: it must match {_NAMESPACE.pattern}")
    if not codes:
        raise CodesRefusedError(f"{namespace}: no codes")
    rows = [_row(namespace, name, definition) for name, definition in codes.items()]
    with _LOCK:
        if any(row.domain == namespace for row in (*PLUGIN_ROWS.values(), *REGISTRY.values())):
            raise CodesRefusedError(f"the namespace {namespace} is in use")
        if numbers is not None:
            _check_range(namespace, numbers)
        _check_numbers(rows)
        PLUGIN_ROWS.update({row.code: row for row in rows})
        if numbers is not None:
            _RANGES[namespace] = numbers
    return rows


def _check_range(namespace: str, numbers: range) -> None:
    for other, taken in _RANGES.items():
        if numbers.start < taken.stop and taken.start < numbers.stop:
            raise CodesRefusedError(f"{namespace}: {_shown(numbers)} overlaps {_shown(taken)} of {other}")
    for row in PLUGIN_ROWS.values():
        if row.number in numbers:
            raise CodesRefusedError(f"{namespace}: the number {row.number} is in use by {row.code}")


def _check_numbers(rows: Sequence[ErrorRow]) -> None:
    used = {row.number for row in PLUGIN_ROWS.values()}
    for row in rows:
        if row.number in used:
            raise CodesRefusedError(f"{row.code}: the number {row.number} is in use")
        used.add(row.number)
        for other, taken in _RANGES.items():
            if row.number in taken:
                raise CodesRefusedError(
                    f"{row.code}: the number {row.number} is in use: {other} holds its range"
                )


def unregister_error_codes(namespace: str) -> None:
    """Remove every code of ``namespace`` and its range; raise CodesRefusedError when there is none."""
    with _LOCK:
        codes = [code for code, row in PLUGIN_ROWS.items() if row.domain == namespace]
        if not codes:
            raise CodesRefusedError(f"the namespace {namespace!a} has no codes")
        for code in codes:
            del PLUGIN_ROWS[code]
        _RANGES.pop(namespace, None)


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain of errors with numbers of its own (seed 004, the shared domain error factory).

    ``rows`` are its codes and ``messages`` their default messages, by symbol; ``numbers`` are the domain's alone.
    """

    name: str
    numbers: range
    rows: Mapping[str, ErrorRow]
    messages: Mapping[str, str]

    def error(
        self,
        symbol: str,
        message: str | None = None,
        *,
        details: Mapping[str, object] | None = None,
        retryable: bool | None = None,
        repair: Repair | None = None,
    ) -> CodedError:
        """Return the error ``symbol`` to raise, with its own message and ``retryable`` unless others are given.

        Raise UnknownSymbolError for a symbol that the domain lacks.
        """
        row = self.rows.get(symbol)
        if row is None:
            raise UnknownSymbolError(
                f"{symbol!a} is no error symbol of the domain {self.name}; it has {', '.join(self.rows)}"
            )
        text = self.messages[symbol] if message is None else message
        return CodedError(row.code, text, details=details, retryable=retryable, repair=repair)


def define_domain(name: str, numbers: range, definitions: Mapping[str, Mapping[str, Any]]) -> Domain:
    """Register ``definitions`` under ``name``, numbered without gaps from the start of ``numbers``.

    A definition has ``message``, and may have what one of ``register_error_codes`` has but ``number``: ``retryable``
    is False by default, ``category`` INTERNAL, ``cause`` system, ``http`` 500 and ``hint`` the message. The whole of
    ``numbers`` is the domain's until it is unregistered, so that it can grow. Raise CodesRefusedError also for a
    range with steps, one too short, and one that overlaps the numbers of another domain.
    """
    if numbers.step != 1 or len(numbers) < len(definitions):
        raise CodesRefusedError(f"{name}: {numbers} has no {len(definitions)} numbers without gaps")
    numbered, messages = {}, {}
    for number, (symbol, definition) in zip(numbers, definitions.items(), strict=False):
        if "number" in definition:
            raise CodesRefusedError(f"{name}.{symbol}: the range gives the number")
        message = definition.get("message")
        if not (isinstance(message, str) and message.strip()):
            raise CodesRefusedError(f"{name}.{symbol}: malformed message")
        fields = {key: value for key, value in definition.items() if key != "message"}
        numbered[symbol] = {**_DEFAULTS, "hint": message, **fields, "number": number}
        messages[symbol] = message
    rows = _registered(name, numbered, numbers)
    return Domain(name, numbers, dict(zip(definitions, rows, strict=True)), messages)


def _shown(numbers: range) -> str:
    return f"{numbers.start} to {numbers.stop - 1}"


def _row(namespace: str, name: str, definition: Mapping[str, Any]) -> ErrorRow:
    code = f"{namespace}.{name}"
    if _NAME.fullmatch(name) is None:
        raise CodesRefusedError(f"{code!a}: a code is SCREAMING_SNAKE_CASE")
    if name in Code.__members__:
        raise CodesRefusedError(f"{code}: {name} is a code of the core")
    missing = [field for field in _NEEDED if field not in definition]
    unknown = sorted(definition.keys() - {*_NEEDED, *_OPTIONAL})
    if missing or unknown:
        raise CodesRefusedError(f"{code}: lacks {missing}, does not know {unknown}")
    number, http, hint = definition["number"], definition["http"], definition["hint"]
    checks = {
        "number": type(number) is int and number >= FIRST_NUMBER,
        "category": definition["category"] in [*Category],
        "cause": definition["cause"] in [*Cause],
        "http": type(http) is int and http in _HTTP,
        "retryable": isinstance(definition["retryable"], bool),
        "hint": isinstance(hint, str) and bool(hint.strip()),
        **{field: _texts(definition.get(field, ())) for field in _OPTIONAL},
    }
    wrong = [field for field, fits in checks.items() if not fits]
    if wrong:
        raise CodesRefusedError(f"{code}: malformed {', '.join(wrong)}")
    return ErrorRow(
        code=code,
        number=number,
        domain=namespace,
        category=Category(definition["category"]),
        cause=Cause(definition["cause"]),
        http=http,
        grpc_status=None,
        retryable=definition["retryable"],
        hint=hint,
        recovery_hints=tuple(definition.get("recovery_hints", ())),
        next_actions=tuple(definition.get("next_actions", ())),
    )


def _texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) and each for each in value)
