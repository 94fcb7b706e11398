"""Checks of the caller's arguments, before anything is sent: an error names the argument and never its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.errors import Code
from evalward.v1 import evalward_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.protobuf.descriptor import Descriptor

MOST_NUMBER: Final = 2**64 - 1
_PAGE: Final = {"page": "renderer"}


class Unsendable(Exception):  # noqa: N818 - becomes a denial, never raised to the caller
    """An argument that no request can carry; ``pointer`` names it, ``allowed`` describes the accepted values."""

    def __init__(
        self, field: str, why: str, *, allowed: Sequence[str] = (), code: Code = Code.INVALID_INPUT
    ) -> None:
        super().__init__(f"{field} {why}")
        self.code = code
        self.pointer = f"/{field}".replace(".", "/")
        self.allowed = [*allowed]


def payload(field: str, value: Any) -> bytes:
    """Return ``value`` if it is bytes, which cannot change between the verdict and the run."""
    # A bytearray can change, and so can a subclass with its own methods.
    if type(value) is not bytes:
        raise Unsendable(field, "takes bytes")
    return value


def text(field: str, value: Any) -> str:
    """Return ``value`` if it is text that UTF-8 can carry."""
    if not isinstance(value, str):
        raise Unsendable(field, "takes text")
    try:
        # The base class's method: a subclass could return other text.
        return str.encode(value).decode()
    except UnicodeEncodeError:
        raise Unsendable(field, "has a lone surrogate") from None


def name(field: str, value: Any) -> str:
    """Return ``value`` if it is text that is not empty."""
    if not text(field, value):
        raise Unsendable(field, "takes a name")
    return str(value)


def flag(field: str, value: Any) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool):
        raise Unsendable(field, "takes True or False")
    return value


def harden(value: Any) -> pb.Harden.ValueType:
    """Return the number of ``value``: True requires a hardened program, False declines it, None leaves it open."""
    if value is None:
        return pb.HARDEN_UNSPECIFIED
    return pb.HARDEN_REQUIRED if flag("harden", value) else pb.HARDEN_OFF


def number(field: str, value: Any) -> int:
    """Return ``value`` if it is a whole number from 0 to 2**64 - 1."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_NUMBER:
        raise Unsendable(field, "takes a whole number from 0 to 2**64 - 1")
    return int(value)


def bindings(field: str, value: Mapping[str, str] | None) -> dict[str, str]:
    """Return a copy of ``value``, which maps names to kinds, both text; empty for None."""
    if value is None:
        return {}
    return {text(field, bound): text(field, kind) for bound, kind in _items(field, value)}


def limits(field: str, value: Mapping[str, int], kind: Descriptor) -> dict[str, int]:
    """Return a copy of ``value``, whose keys are fields of the message ``kind``."""
    known = [each.name for each in kind.fields]
    for limit, _ in _items(field, value):
        if limit not in known:
            raise Unsendable(field, "has an unknown limit", allowed=known)
    return {limit: number(f"{field}.{limit}", most) for limit, most in value.items()}


def pointers(field: str, value: Any) -> frozenset[str]:
    """Return ``value``, a collection of JSON Pointers and not a single one."""
    if isinstance(value, str | bytes):
        raise Unsendable(field, "takes a collection of JSON Pointers")
    try:
        return frozenset(text(field, each) for each in value)
    except TypeError:
        raise Unsendable(field, "takes a collection of JSON Pointers") from None


def target(value: Any) -> pb.Target.ValueType:
    """Return the number of the target that ``value`` names, an alias included."""
    meant = _PAGE.get(value, value) if isinstance(value, str) else value
    return pb.Target.Value(_choice("target", meant, pb.Target.items()))


def shape(value: Any) -> pb.Shape.ValueType:
    """Return the number of the shape that ``value`` names."""
    return pb.Shape.Value(_choice("shape", value, pb.Shape.items()))


def profile(value: Any) -> pb.Profile.ValueType:
    """Return the number of the profile that ``value`` names."""
    return pb.Profile.Value(_choice("profile", value, pb.Profile.items()))


def _choice(field: str, value: Any, members: Sequence[tuple[str, int]]) -> str:
    """Return the name of the member that ``value`` means."""
    prefix = f"{field}_".upper()
    # The zero value means unspecified.
    allowed = [member.removeprefix(prefix).lower() for member, value_of in members if value_of]
    if not isinstance(value, str) or value.lower() not in allowed:
        raise Unsendable(field, "has no such value", allowed=allowed)
    return f"{prefix}{value}".upper()


def _items(field: str, value: Any) -> list[tuple[Any, Any]]:
    try:
        return [*value.items()]
    except AttributeError:
        raise Unsendable(field, "takes a mapping") from None
