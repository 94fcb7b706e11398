"""Codes that others bring: a namespace for each plugin, beside the closed table of this package (contract.md §1).

A plugin's code is ``namespace.CODE`` wherever it appears. Everything is checked when it is registered, so that no
envelope meets a code that lacks something.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evalward.errors.coded import CodedError
from evalward.errors.registry import PLUGIN_ROWS, REGISTRY, Category, Cause, Code, ErrorRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.errors.envelope import Repair

FIRST_NUMBER: Final = 4000
"""Numbers below are this package's, or reserved (seed 004)."""
_NAMESPACE = re.compile(r"[a-z][a-z0-9_]{0,31}")
_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_NEEDED: Final = ("number", "category", "cause", "http", "retryable", "hint")
_OPTIONAL: Final = ("recovery_hints", "next_actions")
_HTTP = range(400, 600)
_LOCK = threading.Lock()


class CodesRefusedError(ValueError):
    """Codes that cannot be registered; the message names the code and what is wrong with it."""


def register_error_codes(namespace: str, codes: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """Register every one of ``codes`` under ``namespace`` and return their full names, or register none.

    A definition has ``number`` (from ``FIRST_NUMBER``), ``category``, ``cause``, ``http``, ``retryable`` and ``hint``,
    and may have ``recovery_hints`` and ``next_actions``. Raise CodesRefusedError for a namespace or number in use,
    for a malformed name, and for a missing, unknown or malformed field.
    """
    if _NAMESPACE.fullmatch(namespace) is None:
        raise CodesRefusedError(f"{namespace!a} is no namespace: it must match {_NAMESPACE.pattern}")
    if not codes:
        raise CodesRefusedError(f"{namespace}: no codes")
    rows = [_row(namespace, name, definition) for name, definition in codes.items()]
    with _LOCK:
        if any(row.domain == namespace for row in (*PLUGIN_ROWS.values(), *REGISTRY.values())):
            raise CodesRefusedError(f"the namespace {namespace} is in use")
        used = {row.number for row in PLUGIN_ROWS.values()}
        for row in rows:
            if row.number in used:
                raise CodesRefusedError(f"{row.code}: the number {row.number} is in use")
            used.add(row.number)
        PLUGIN_ROWS.update({row.code: row for row in rows})
    return tuple(row.code for row in rows)


def unregister_error_codes(namespace: str) -> None:
    """Forget every code of ``namespace``; raise CodesRefusedError when there is none."""
    with _LOCK:
        codes = [code for code, row in PLUGIN_ROWS.items() if row.domain == namespace]
        if not codes:
            raise CodesRefusedError(f"the namespace {namespace!a} has no codes")
        for code in codes:
            del PLUGIN_ROWS[code]


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain of errors with numbers of its own (seed 004, the shared domain error factory)."""

    name: str
    rows: Mapping[str, ErrorRow]

    def error(
        self,
        symbol: str,
        message: str,
        *,
        details: Mapping[str, object] | None = None,
        repair: Repair | None = None,
    ) -> CodedError:
        """Return the error ``symbol`` to raise; raise KeyError for a symbol that the domain lacks."""
        return CodedError(self.rows[symbol].code, message, details=details, repair=repair)


def define_domain(name: str, numbers: range, definitions: Mapping[str, Mapping[str, Any]]) -> Domain:
    """Register ``definitions`` under ``name``, numbered without gaps from the start of ``numbers``.

    A definition is one of ``register_error_codes`` without ``number``. Raise CodesRefusedError also for a range with
    steps or too short.
    """
    if numbers.step != 1 or len(numbers) < len(definitions):
        raise CodesRefusedError(f"{name}: {numbers} has no {len(definitions)} numbers without gaps")
    clash = [symbol for symbol, definition in definitions.items() if "number" in definition]
    if clash:
        raise CodesRefusedError(f"{name}.{clash[0]}: the range gives the number")
    numbered = {
        symbol: {**definition, "number": number}
        for number, (symbol, definition) in zip(numbers, definitions.items(), strict=False)
    }
    full = register_error_codes(name, numbered)
    return Domain(name, {symbol: PLUGIN_ROWS[code] for symbol, code in zip(definitions, full, strict=True)})


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
