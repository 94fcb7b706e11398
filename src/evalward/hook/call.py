"""What every product's hook has in common: the call that it asks about, and the answer that it gets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from evalward.adapters import denial_text
from evalward.errors import Code, CodedError, Repair
from evalward.identifiers import CALLER_ID
from evalward.tools.strict_json import read_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.tools.servers import Named

BLOCKED: Final = 2
"""The exit code that blocks a call; in most products any other failure lets it through."""
_ID: Final = re.compile(CALLER_ID)
_THE_ARGUMENTS: Final = "The arguments "


class HookCall(NamedTuple):
    """A call that a product asks about: what its name can mean, and the JSON of its arguments.

    Without ``readings`` it is a tool of the product itself, which is not judged. The ids are empty where the product
    gives none that the audit log accepts.
    """

    readings: tuple[Named, ...]
    arguments_json: bytes = b"{}"
    session_id: str = ""
    request_id: str = ""


class Answer(NamedTuple):
    """What the product's command prints and how it ends."""

    stdout: bytes
    exit_code: int = 0
    stderr: bytes = b""


class Outcome(NamedTuple):
    """The decision on a call: its envelope, and the arguments to run instead, where a field has a program."""

    allowed: bool
    envelope: Mapping[str, Any]
    arguments: Mapping[str, Any] | None = None


class Product(Protocol):
    """One product; each module of this package that has these names is one."""

    TAKES_PROGRAMS: bool
    """Whether the answer can replace the arguments."""

    def read(self, text: bytes) -> HookCall:
        """Return the call in the hook's JSON; raise CodedError (INVALID_INPUT) for anything unexpected."""
        ...

    def answer(self, outcome: Outcome) -> Answer:
        """Return the answer for a decision."""
        ...


def read_object(text: bytes) -> dict[str, Any]:
    """Return the JSON object in the hook's input, read as strictly as arguments; raise CodedError."""
    try:
        return read_arguments(text, any_integer=True)
    except CodedError as refusal:
        what = refusal.message.removeprefix(_THE_ARGUMENTS)
        raise CodedError(refusal.code, f"The hook's input: the JSON {_singular(what)}") from None


def member(body: Mapping[str, Any], *names: str) -> Any:
    """Return the member called one of ``names``, None for none; raise CodedError when several differ."""
    found = [name for name in names if name in body]
    if any(body[name] != body[found[0]] for name in found):
        raise unreadable(f"has both {found[0]} and {found[-1]}")
    return body[found[0]] if found else None


def text_of(body: Mapping[str, Any], *names: str) -> str:
    """Return a member that must be a text that is not empty; raise CodedError."""
    value = member(body, *names)
    if not isinstance(value, str) or not value:
        raise unreadable(f"has no text {names[0]}")
    return value


def id_of(body: Mapping[str, Any], *names: str) -> str:
    """Return an id that the audit log accepts, else the empty text: an id decides nothing."""
    value = next((body[name] for name in names if name in body), "")
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def arguments_of(value: Any) -> bytes:
    """Return the JSON of a call's arguments; raise CodedError."""
    if not isinstance(value, dict):
        raise unreadable("has arguments that are not an object")
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def unreadable(why: str) -> CodedError:
    """Return the refusal of a hook's input that cannot be read."""
    return CodedError(Code.INVALID_INPUT, f"The hook's input {why}.", repair=Repair(field="/"))


def reason_of(envelope: Mapping[str, Any]) -> str:
    """Return the reason of a denial for a model: what a model sees of its envelope."""
    return f"Evalward: {denial_text(envelope)}"


def brief(envelope: Mapping[str, Any]) -> str:
    """Return the reason of a denial for a person."""
    return f"Evalward: {envelope.get('code')}: {envelope.get('error')}"


def as_json(body: Mapping[str, Any]) -> bytes:
    """Return an answer as one line of JSON."""
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def _singular(what: str) -> str:
    for plural, singular in (
        ("are ", "is "),
        ("have ", "has "),
        ("give ", "gives "),
        ("exceed ", "exceeds "),
    ):
        if what.startswith(plural):
            return singular + what.removeprefix(plural)
    return what
