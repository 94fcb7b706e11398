"""The facts about each code: the table of contract.md §1, one row per member of ``codes.Code``.

Docs, ``evalward codes``, ``ListErrorCodes`` and every numeric mapping are derived from ``REGISTRY``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evalward.codes import Code
from evalward.errors.guidance import GUIDANCE

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(StrEnum):
    """Whose change helps: the caller's request, or the system's state (seed 001)."""

    CALLER = "caller"
    SYSTEM = "system"


class Category(StrEnum):
    """The failure categories of seed 002, plus INPUT for domain failures.

    No code of this package has UPSTREAM or PROTOCOL: it has no upstream and keeps no session. Plugins use them.
    """

    INPUT = "INPUT"
    CONFIG = "CONFIG"
    AUTH = "AUTH"
    UPSTREAM = "UPSTREAM"
    TIMEOUT = "TIMEOUT"
    TRANSPORT = "TRANSPORT"
    PROTOCOL = "PROTOCOL"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One row of the table.

    ``code`` is a ``Code``, or ``namespace.CODE`` of a plugin. ``grpc_status`` names the gRPC status of an
    infrastructure failure and is None for a domain failure. ``retryable`` says that the identical request may
    succeed later. ``hint`` is one sentence, ``recovery_hints`` general guidance, ``next_actions`` what a caller can
    do now.
    """

    code: str
    number: int
    domain: str
    category: Category
    cause: Cause
    http: int
    grpc_status: str | None
    retryable: bool
    hint: str
    recovery_hints: tuple[str, ...]
    next_actions: tuple[str, ...]

    @property
    def is_infrastructure(self) -> bool:
        """Whether the failure travels as a gRPC status instead of as an outcome (contract.md §3)."""
        return self.grpc_status is not None

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain JSON data, ``symbol`` included."""
        return {
            "code": str(self.code),
            "symbol": str(self.code),
            "number": self.number,
            "domain": self.domain,
            "category": self.category.value,
            "cause": self.cause.value,
            "http": self.http,
            "grpc_status": self.grpc_status,
            "retryable": self.retryable,
            "hint": self.hint,
            "recovery_hints": list(self.recovery_hints),
            "next_actions": list(self.next_actions),
        }


def _caller(code: Code, number: int, domain: str, http: int) -> ErrorRow:
    return _row(code, number, domain, Category.INPUT, Cause.CALLER, http, None, retryable=False)


def _system(  # noqa: PLR0913, PLR0917 - one parameter per column of the table
    code: Code, number: int, domain: str, category: Category, http: int, status: str | None
) -> ErrorRow:
    return _row(code, number, domain, category, Cause.SYSTEM, http, status, retryable=True)


def _broken(code: Code, number: int, category: Category, status: str) -> ErrorRow:
    return _row(code, number, "service", category, Cause.SYSTEM, 500, status, retryable=False)


def _refused(code: Code, number: int, http: int) -> ErrorRow:
    return _row(code, number, "service", Category.AUTH, Cause.CALLER, http, code.value, retryable=False)


def _row(  # noqa: PLR0913, PLR0917 - one parameter per column of the table
    code: Code,
    number: int,
    domain: str,
    category: Category,
    cause: Cause,
    http: int,
    status: str | None,
    *,
    retryable: bool,
) -> ErrorRow:
    words = GUIDANCE[code.value]
    return ErrorRow(
        code=code,
        number=number,
        domain=domain,
        category=category,
        cause=cause,
        http=http,
        grpc_status=status,
        retryable=retryable,
        hint=words.hint,
        recovery_hints=words.recovery_hints,
        next_actions=words.next_actions,
    )


_ROWS = (
    _caller(Code.EVAL_BLOCKED_KEYWORD, 3000, "eval", 400),
    _caller(Code.EVAL_BLOCKED_CONSTRUCT, 3001, "eval", 400),
    _caller(Code.EVAL_SYNTAX_ERROR, 3002, "eval", 400),
    _caller(Code.EVAL_BAD_ENCODING, 3003, "eval", 400),
    _caller(Code.EVAL_TARGET_DENIED, 3004, "eval", 403),
    _caller(Code.EVAL_ANALYSIS_LIMIT, 3005, "eval", 422),
    _caller(Code.EVAL_NOT_HARDENABLE, 3006, "eval", 400),
    _caller(Code.EVAL_DENIED_AT_RUN_TIME, 3007, "eval", 400),
    _caller(Code.EVAL_PAYLOAD_TOO_LARGE, 1005, "common", 413),
    _caller(Code.EVAL_RUNTIME_ERROR, 3100, "sandbox", 422),
    _caller(Code.EVAL_FUEL_EXHAUSTED, 3101, "sandbox", 422),
    _system(Code.EVAL_TIMEOUT, 3102, "sandbox", Category.TIMEOUT, 408, None),
    _caller(Code.EVAL_MEMORY_LIMIT, 3103, "sandbox", 422),
    _caller(Code.EVAL_STACK_LIMIT, 3104, "sandbox", 422),
    _caller(Code.EVAL_RESULT_TOO_LARGE, 3105, "sandbox", 413),
    _caller(Code.EVAL_UNSETTLED, 3106, "sandbox", 422),
    _system(Code.SANDBOX_UNAVAILABLE, 3107, "sandbox", Category.TRANSPORT, 503, "UNAVAILABLE"),
    _caller(Code.TOOL_UNKNOWN, 3200, "tool", 404),
    _caller(Code.TOOL_FIELD_FORBIDDEN, 3201, "tool", 400),
    _caller(Code.STRICT_CONSTANT_OVERRIDE, 3202, "tool", 403),
    _caller(Code.TOOL_URL_DENIED, 3203, "tool", 403),
    _caller(Code.TOOL_VALUE_DENIED, 3204, "tool", 403),
    _caller(Code.INVALID_INPUT, 1000, "common", 400),
    _caller(Code.MISSING_FIELD, 1007, "common", 400),
    _caller(Code.UNSUPPORTED_OPTION, 1006, "common", 400),
    _caller(Code.BATCH_TOO_LARGE, 1002, "common", 413),
    _system(Code.DEADLINE_EXCEEDED, 1001, "common", Category.TIMEOUT, 504, "DEADLINE_EXCEEDED"),
    _system(Code.OVERLOADED, 3300, "service", Category.TRANSPORT, 503, "RESOURCE_EXHAUSTED"),
    _refused(Code.UNAUTHENTICATED, 3301, 401),
    _refused(Code.PERMISSION_DENIED, 3302, 403),
    _system(Code.AUDIT_UNAVAILABLE, 3303, "service", Category.TRANSPORT, 503, "UNAVAILABLE"),
    _broken(Code.CONFIG_INVALID, 3304, Category.CONFIG, "FAILED_PRECONDITION"),
    _broken(Code.POLICY_INVALID, 3305, Category.CONFIG, "FAILED_PRECONDITION"),
    _system(Code.SHUTTING_DOWN, 3306, "service", Category.TRANSPORT, 503, "UNAVAILABLE"),
    _broken(Code.INTERNAL, 3307, Category.INTERNAL, "INTERNAL"),
    # What clients say of a service that they did not reach, or did not recognise.
    _system(Code.SERVICE_UNREACHABLE, 3308, "service", Category.TRANSPORT, 503, "UNAVAILABLE"),
    _broken(Code.TLS_FAILED, 3309, Category.CONFIG, "FAILED_PRECONDITION"),
    _broken(Code.SERVICE_UNPROVEN, 3311, Category.AUTH, "UNAUTHENTICATED"),
    _system(Code.GUARD_UNAVAILABLE, 3310, "service", Category.TRANSPORT, 503, "UNAVAILABLE"),
)

REGISTRY: Mapping[Code, ErrorRow] = MappingProxyType({Code(row.code): row for row in _ROWS})

PLUGIN_ROWS: dict[str, ErrorRow] = {}
"""What plugins registered (``plugins``), by full name."""


def row_of(code: str) -> ErrorRow:
    """Return the row of a code of this table or of a plugin; raise ValueError for any other."""
    row = PLUGIN_ROWS.get(code)
    return REGISTRY[Code(code)] if row is None else row
