"""The overrides of a request: they may tighten the policy, never loosen it (guard.md §1)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import Code, CodedError, Range, Repair, pointer
from evalward.guard.binding import BINDING_KINDS, BindingKind, similar_kinds
from evalward.guard.rules import Hardening, Limits
from evalward.guard.target import Profile, Target
from evalward.policy.fields import BINDING_NAME, RESERVED_BINDINGS

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from evalward.guard.rules import Limits

_STRICTNESS: Mapping[Profile, int] = MappingProxyType(
    {Profile.SEED: 0, Profile.BALANCED: 1, Profile.STRICT: 2}
)
_MAX_BINDINGS = 64


class OverrideRefusedError(CodedError):
    """A request asked for something looser than the policy (STRICT_CONSTANT_OVERRIDE)."""

    def __init__(self, message: str, repair: Repair) -> None:
        super().__init__(Code.STRICT_CONSTANT_OVERRIDE, message, repair=repair)


class BindingInvalidError(CodedError):
    """A request declared a binding whose name or value is malformed (INVALID_INPUT)."""

    def __init__(self, message: str, repair: Repair, similar_refs: Sequence[str] = ()) -> None:
        super().__init__(Code.INVALID_INPUT, message, repair=repair, similar_refs=similar_refs)


class Request(NamedTuple):
    """The overrides of a request; None and empty values leave the policy's own value in force.

    ``exempt`` comes from the policy's exception for the payload, never from the request.
    """

    target: Target
    profile: Profile | None = None
    limits: Limits | None = None
    bindings: frozenset[tuple[str, str]] = frozenset()
    exempt: frozenset[str] = frozenset()


def overridden_profile(own: Profile, wish: Profile | None) -> Profile:
    """Return the profile in force; raise OverrideRefusedError if ``wish`` is looser than ``own``."""
    if wish is None:
        return own
    if _STRICTNESS[wish] < _STRICTNESS[own]:
        allowed = [name for name, rank in _STRICTNESS.items() if rank >= _STRICTNESS[own]]
        raise OverrideRefusedError(
            f"The policy requires profile {own}; a request may not loosen it to {wish}.",
            Repair(field="/profile", allowed=allowed),
        )
    return wish


def overridden_limits(own: Limits, wish: Limits | None) -> Limits:
    """Return the limits in force; raise OverrideRefusedError if one of ``wish`` is higher than in ``own``."""
    if wish is None:
        return own
    for name in ("payload_bytes", "depth", "nodes_per_64k", "steps"):
        highest: int = getattr(own, name)
        asked: int = getattr(wish, name)
        if not 1 <= asked <= highest:
            raise OverrideRefusedError(
                f"The policy limits {name} to {highest}; a request may only lower it.",
                Repair(
                    field=pointer("limits", name),
                    range=Range(1, highest),
                    limit=name,
                    limit_value=highest,
                    actual=asked,
                ),
            )
    return wish


def stricter_hardening(own: Hardening, least: Hardening | None) -> Hardening:
    """Return the stricter of the policy's setting and a manifest's."""
    return own if least is None else max(own, least, key=[*Hardening].index)


def overridden_hardening(own: Hardening, wish: Hardening | None) -> Hardening:
    """Return what holds; raise OverrideRefusedError if ``wish`` declines what ``own`` requires.

    A request may decline what is only offered, since that changes nothing about the verdict.
    """
    if wish is None:
        return own
    if own is Hardening.REQUIRED and wish is not own:
        raise OverrideRefusedError(
            "The policy or the manifest requires a hardened program; a request may not decline it.",
            Repair(field="/harden", allowed=[Hardening.REQUIRED]),
        )
    return wish


def overridden_bindings(own: Mapping[str, str], wish: frozenset[tuple[str, str]]) -> Mapping[str, str]:
    """Return the bindings of both.

    Raise OverrideRefusedError if ``wish`` changes one of ``own`` or binds a name of the realm, BindingInvalidError if
    a name or kind of ``wish`` is malformed.
    """
    if len(wish) > _MAX_BINDINGS:
        raise BindingInvalidError(
            f"A request may declare {_MAX_BINDINGS} bindings.",
            Repair.passed("bindings", _MAX_BINDINGS, field="/bindings", actual=len(wish)),
        )
    for name, value in sorted(wish):
        _check(name, BINDING_NAME, pointer("bindings"))
        _check_kind(name, value)
        if name in RESERVED_BINDINGS:
            raise OverrideRefusedError(
                f"{name} is a global of the realm and cannot be bound.",
                Repair(field=pointer("bindings", name)),
            )
        if own.get(name, value) != value:
            raise OverrideRefusedError(
                f"The policy binds {name} to {own[name]}; a request may not rebind it.",
                Repair(field=pointer("bindings", name), allowed=[own[name]]),
            )
    return MappingProxyType({**own, **dict(wish)})


def _check(text: str, pattern: re.Pattern[str], field: str) -> None:
    if pattern.fullmatch(text) is None:
        raise BindingInvalidError(
            f"{field} holds a malformed name; it must match {pattern.pattern}.",
            Repair(field=field, pattern=pattern.pattern),
        )


def _check_kind(name: str, kind: str) -> None:
    if kind not in BINDING_KINDS:
        raise BindingInvalidError(
            f"bindings.{name} names no kind of binding.",
            Repair(field=pointer("bindings", name), allowed=[*BindingKind]),
            similar_kinds(kind),
        )
