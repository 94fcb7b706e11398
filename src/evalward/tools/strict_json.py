"""Strict JSON for the arguments of a call: text that two parsers could read differently is invalid (contract.md §4)."""

from __future__ import annotations

import json
from math import isfinite
from sys import float_info
from typing import Any, Final, NamedTuple, NoReturn

from evalward.errors import Code, CodedError, Range, Repair
from evalward.tools.pointer import pointer_of

MAX_DEPTH: Final = 32
"""Levels of objects and arrays in the arguments."""
MAX_VALUES: Final = 20_000
"""The limit of values in the arguments, which bounds the cost of checking them."""
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every reader preserves (RFC 8259, section 6)."""
_DIGITS: Final = 17
_DOUBLE: Final = float_info.max
PROTOTYPE_KEY: Final = "__proto__"
_FIELD: Final = "/arguments_json"


def read_arguments(text: bytes, *, max_bytes: int | None = None, any_integer: bool = False) -> dict[str, Any]:
    """Return the JSON object in ``text``; raise CodedError (INVALID_INPUT) for text that is not exactly one object.

    Rejected are text that is not UTF-8, a duplicate key, a lone surrogate, NaN, Infinity, a number beyond a double, an
    integer beyond ``MAX_INTEGER``, ``__proto__`` as a key (setting it changes other fields), and more nesting or values
    than any tool needs. Text of more than ``max_bytes`` is EVAL_PAYLOAD_TOO_LARGE. ``any_integer`` accepts every
    integer of up to 17 digits and reads a longer one as ``MAX_INTEGER`` + 1: for schemas, whose bounds no other parser
    has to read alike.
    """
    if max_bytes is not None and len(text) > max_bytes:
        raise CodedError(
            Code.EVAL_PAYLOAD_TOO_LARGE,
            f"The arguments exceed the limit arguments_bytes of {max_bytes}.",
            repair=Repair.passed("arguments_bytes", max_bytes, field=_FIELD, actual=len(text)),
        )
    try:
        value = json.loads(
            text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer
        )
    except UnicodeDecodeError:
        raise _refused("are not UTF-8") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:  # also a number of too many digits; the decoder's own message quotes the arguments
        raise _refused("are not JSON") from None
    if not isinstance(value, dict):
        raise _refused("are not a JSON object", types=["object"])
    _check_values(value, any_integer=any_integer)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _refused("give a key twice")
    if PROTOTYPE_KEY in members:
        raise _refused(f"have the key {PROTOTYPE_KEY}")
    for key in members:
        _check_text(key)
    return members


def _constant(_: str) -> NoReturn:
    raise _refused("have a number that JSON does not know (NaN or Infinity)")


def _integer(text: str) -> int:
    # A longer integer exceeds the bound, and Python is slow with thousands of digits.
    return int(text) if len(text) <= _DIGITS else MAX_INTEGER + 1


class _Step(NamedTuple):
    """A step from the arguments to a value; the pointer is built only for an error."""

    name: str | int
    above: _Step | None

    def pointer(self) -> str:
        """Return the JSON Pointer of the value."""
        steps: list[str | int] = []
        step: _Step | None = self
        while step is not None:
            steps.append(step.name)
            step = step.above
        return pointer_of(reversed(steps))


def _check_values(value: object, *, any_integer: bool) -> None:
    todo: list[tuple[object, int, _Step | None]] = [(value, 1, None)]
    count = 0
    while todo:
        each, depth, at = todo.pop()
        count += 1
        if isinstance(each, str):
            _check_text(each)
            continue
        if isinstance(each, (int, float)):
            if not (any_integer and isinstance(each, int)):
                _check_number(each, at)
            continue
        if not isinstance(each, (dict, list)):
            continue
        if depth > MAX_DEPTH:
            raise _too_deep()
        if count + len(todo) + len(each) > MAX_VALUES:
            raise _refused("have too many values", limit="argument_values", value=MAX_VALUES)
        below = each.items() if isinstance(each, dict) else enumerate(each)
        todo += [(item, depth + 1, _Step(name, at)) for name, item in below]


def _check_number(number: float, at: _Step | None) -> None:
    if isinstance(number, float) and not isfinite(number):
        why, bounds = "a number beyond the range of a double", Range(minimum=-_DOUBLE, maximum=_DOUBLE)
    elif isinstance(number, int) and abs(number) > MAX_INTEGER:
        why = "an integer that not every reader of JSON keeps"
        bounds = Range(minimum=-MAX_INTEGER, maximum=MAX_INTEGER)
    else:
        return
    place = at.pointer() if at is not None else ""
    raise CodedError(
        Code.INVALID_INPUT,
        f"The arguments have {why}.",
        repair=Repair(field=place or _FIELD, range=bounds),
    )


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused("have a lone surrogate, which no UTF-8 text can carry") from None


def _too_deep() -> CodedError:
    return _refused("are nested too deep", limit="argument_depth", value=MAX_DEPTH)


def _refused(
    why: str, *, limit: str | None = None, value: int | None = None, types: list[str] | None = None
) -> CodedError:
    return CodedError(
        Code.INVALID_INPUT,
        f"The arguments {why}.",
        repair=Repair(field=_FIELD, limit=limit, limit_value=value, types=types),
    )
