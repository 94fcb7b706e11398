"""Converts an error envelope to the format of seed 004, with the registry's positive numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.errors.canonical import to_json_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.errors import JsonValue


def to_numeric_error(envelope: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return ``{code, message, data: {domain, symbol, details, retryable}}``; ``code`` is the registry's number.

    Raise ValueError for an envelope that is not an error or has no number; NotJsonError when it is not JSON.
    """
    plain = to_json_object(envelope)
    number = plain.get("number")
    if plain.get("ok") is not False or not isinstance(number, int) or isinstance(number, bool):
        raise ValueError("only an error envelope with a number has a numeric form")
    return {
        "code": number,
        "message": plain.get("error"),
        "data": {
            "domain": plain.get("domain"),
            "symbol": plain.get("code"),
            "details": plain.get("details", {}),
            "retryable": plain.get("retryable") is True,
        },
    }
