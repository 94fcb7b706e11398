"""The arguments of a call, read so that no two parsers can read them differently (contract.md §4)."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, Final, NoReturn

from evalward.errors import Code, CodedError, Repair

MAX_DEPTH: Final = 32
"""Levels of objects and arrays in the arguments."""
MAX_VALUES: Final = 20_000
"""Values of all kinds in the arguments: what checking them may cost."""
PROTOTYPE_KEY: Final = "__proto__"


def read_arguments(text: bytes, *, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the object that ``text`` is; raise CodedError, INVALID_INPUT for all that is not exactly one.

    That is: text that is not UTF-8, a duplicate key, a lone surrogate, NaN, Infinity or a number beyond a double,
    ``__proto__`` as a key (setting it changes what other fields are), more nesting or values than any tool needs.
    More than ``max_bytes`` is EVAL_PAYLOAD_TOO_LARGE.
    """
    if max_bytes is not None and len(text) > max_bytes:
        raise CodedError(
            Code.EVAL_PAYLOAD_TOO_LARGE,
            f"The arguments exceed the limit arguments_bytes of {max_bytes}.",
            repair=Repair(
                field="arguments_json", limit="arguments_bytes", allowed=max_bytes, actual=len(text)
            ),
        )
    try:
        value = json.loads(
            text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
        )
    except UnicodeDecodeError:
        raise _refused("are not UTF-8") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:  # also a number of too many digits; the decoder's own text quotes the arguments
        raise _refused("are not JSON") from None
    if not isinstance(value, dict):
        raise _refused("are not a JSON object", allowed=["a JSON object"])
    _check_values(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _refused("give a key twice", allowed=["each key once"])
    if PROTOTYPE_KEY in members:
        raise _refused(f"have the key {PROTOTYPE_KEY}")
    for key in members:
        _check_text(key)
    return members


def _constant(_: str) -> NoReturn:
    raise _refused("have a number that JSON does not know (NaN or Infinity)")


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _refused("have a number beyond the range of a double")
    return number


def _check_values(value: object) -> None:
    todo: list[tuple[object, int]] = [(value, 1)]
    count = 0
    while todo:
        each, depth = todo.pop()
        count += 1
        if isinstance(each, str):
            _check_text(each)
            continue
        if not isinstance(each, (dict, list)):
            continue
        if depth > MAX_DEPTH:
            raise _too_deep()
        below = each.values() if isinstance(each, dict) else each
        if count + len(todo) + len(below) > MAX_VALUES:
            raise _refused("have too many values", limit="argument_values", allowed=MAX_VALUES)
        todo += [(item, depth + 1) for item in below]


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused("have a lone surrogate, which no UTF-8 text can carry") from None


def _too_deep() -> CodedError:
    return _refused("are nested too deep", limit="argument_depth", allowed=MAX_DEPTH)


def _refused(why: str, *, limit: str | None = None, allowed: list[str] | int | None = None) -> CodedError:
    return CodedError(
        Code.INVALID_INPUT,
        f"The arguments {why}.",
        repair=Repair(field="arguments_json", limit=limit, allowed=allowed),
    )
