"""Converts the envelope of an infrastructure failure to a JSON-RPC 2.0 error, with the numbers of seed 002."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evalward.errors import REGISTRY, Category, JsonValue
from evalward.errors.canonical import to_json_object

if TYPE_CHECKING:
    from collections.abc import Mapping

INTERNAL_ERROR: Final = -32603
NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "CONFIG": -32004,
        "AUTH": -32003,
        "UPSTREAM": -32002,
        "TIMEOUT": -32001,
        "TRANSPORT": -32000,
        "PROTOCOL": -32000,
        "INTERNAL": INTERNAL_ERROR,
    }
)
"""The error number of each category. No built-in code has the category UPSTREAM or PROTOCOL; a plugin's may."""


def to_jsonrpc_error(envelope: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return ``{code, message, data}`` for ``envelope``, an error of the infrastructure.

    ``data`` is ``{type, retryable, sessionValid, domain, symbol, details}``; ``sessionValid`` is always true,
    since the service keeps no session. Raise ValueError for a domain failure, which is the result of a call
    (``to_call_tool_result``), and for a success envelope; NotJsonError when it is not JSON.
    """
    plain = to_json_object(envelope)
    if plain.get("ok") is not False:
        raise ValueError("only an error envelope can become a JSON-RPC error")
    if _is_domain_failure(plain):
        raise ValueError(
            f"{plain.get('code')} is a domain failure, which is the result of a call and not a JSON-RPC error"
        )
    category = plain.get("category")
    number = NUMBERS.get(category, INTERNAL_ERROR) if isinstance(category, str) else INTERNAL_ERROR
    return {
        "code": number,
        "message": plain.get("error"),
        "data": {
            "type": category,
            "retryable": plain.get("retryable") is True,
            "sessionValid": True,
            "domain": plain.get("domain"),
            "symbol": plain.get("code"),
            "details": plain.get("details", {}),
        },
    }


def _is_domain_failure(envelope: Mapping[str, Any]) -> bool:
    rows = {code.value: row for code, row in REGISTRY.items()}
    row = rows.get(str(envelope.get("code")))
    if row is not None:
        return not row.is_infrastructure
    # The code is unknown (from a plugin or a later version), so the category decides.
    return envelope.get("category") == Category.INPUT
