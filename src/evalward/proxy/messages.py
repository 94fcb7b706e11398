"""A client's line as one JSON-RPC message that every parser reads alike, or the reason why it is none.

A server's parser may differ from this one: it may take the first of two equal keys, ignore the case of a key (Go), read
a batch, or end a line at a CR. Such a line would be judged as one message and run as another.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from evalward.jsonrpc_names import CALL, MEMBERS, looks_like_call

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602

Id: TypeAlias = str | int

_BOM: Final = b"\xef\xbb\xbf"
_MOST_ID: Final = 256
_MOST_METHOD: Final = 256


class Kind(StrEnum):
    """The kinds of JSON-RPC messages."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"


class Message(NamedTuple):
    """One message; ``body`` is the whole object. A response has no method, a notification no id."""

    kind: Kind
    body: dict[str, Any]
    id: Id | None = None
    method: str = ""


class MalformedMessageError(ValueError):
    """The line is refused: ``number`` is the JSON-RPC error, ``id`` the request's, where it is certain."""

    def __init__(self, number: int, reason: str, id_: Id | None = None) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason
        self.id = id_


def read_message(line: bytes) -> Message:
    """Return the message in ``line``; raise MalformedMessageError."""
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\r" in text:
        raise MalformedMessageError(
            PARSE_ERROR, "A message holds no carriage return: some readers end a line there."
        )
    if text.startswith(_BOM):
        raise MalformedMessageError(PARSE_ERROR, "A message begins with no byte order mark.")
    body, repeats = _parsed(text)
    if isinstance(body, list):
        raise MalformedMessageError(
            INVALID_REQUEST, "Batches are no part of MCP since 2025-06-18; send each message alone."
        )
    if not isinstance(body, dict):
        raise MalformedMessageError(INVALID_REQUEST, "A message is one JSON object.")
    id_ = _certain_id(body)
    if repeats:
        raise MalformedMessageError(INVALID_REQUEST, "A key is given twice in one object.", id_)
    if _has_lone_surrogate(text, body):
        raise MalformedMessageError(
            INVALID_REQUEST, "A text has a lone surrogate, which UTF-8 cannot carry.", id_
        )
    for key in body:
        if key not in MEMBERS:
            known = ", ".join(sorted(MEMBERS))
            raise MalformedMessageError(
                INVALID_REQUEST, f"The message has an unknown key; there are {known}.", id_
            )
    if body.get("jsonrpc") != "2.0":
        raise MalformedMessageError(INVALID_REQUEST, 'The message has no "jsonrpc": "2.0".', id_)
    return _classified(body, id_)


def _classified(body: dict[str, Any], id_: Id | None) -> Message:
    is_answer = "result" in body or "error" in body
    if "method" not in body:
        if not is_answer or "params" in body:
            raise MalformedMessageError(
                INVALID_REQUEST, "The message is neither a request nor a response.", id_
            )
        return Message(Kind.RESPONSE, body, id_)
    method = body["method"]
    if is_answer or not isinstance(method, str) or not 0 < len(method) <= _MOST_METHOD:
        raise MalformedMessageError(INVALID_REQUEST, "The message is neither a request nor a response.", id_)
    if looks_like_call(method):
        raise MalformedMessageError(INVALID_REQUEST, f"The method can be taken for {CALL}.", id_)
    if "id" not in body:
        return Message(Kind.NOTIFICATION, body, None, method)
    if id_ is None:
        raise MalformedMessageError(INVALID_REQUEST, "The id of a request is a text or an integer.")
    return Message(Kind.REQUEST, body, id_, method)


class _Object(dict[str, Any]):
    """An object of the message; ``repeated`` are the keys that it has twice."""

    repeated: frozenset[str] = frozenset()


def _parsed(text: bytes) -> tuple[Any, bool]:
    """Return the value of ``text``, and whether an object in it has a key twice."""
    is_repeated = False

    def read(pairs: list[tuple[str, Any]]) -> _Object:
        nonlocal is_repeated
        found = _Object(pairs)
        if len(found) < len(pairs):
            is_repeated = True
            keys = [key for key, _ in pairs]
            found.repeated = frozenset(key for key in found if keys.count(key) > 1)
        return found

    try:
        value = json.loads(text.decode("utf-8"), object_pairs_hook=read, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise MalformedMessageError(PARSE_ERROR, "The message is not UTF-8.") from None
    except RecursionError:
        raise MalformedMessageError(PARSE_ERROR, "The message is nested too deep.") from None
    except ValueError:
        raise MalformedMessageError(PARSE_ERROR, "The message is not JSON.") from None
    return value, is_repeated


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _certain_id(body: dict[str, Any]) -> Id | None:
    """Return the id of ``body``, None where there is none or two parsers could read different ones."""
    if isinstance(body, _Object) and "id" in body.repeated:
        return None
    id_ = body.get("id")
    if isinstance(id_, bool) or not isinstance(id_, (str, int)):
        return None
    return id_ if len(str(id_) if isinstance(id_, str) else hex(id_)) <= _MOST_ID else None


def _has_lone_surrogate(text: bytes, body: dict[str, Any]) -> bool:
    if b"\\ud" not in text and b"\\uD" not in text:
        return False
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
