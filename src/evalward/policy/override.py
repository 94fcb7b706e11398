"""A policy and a request's wishes, compiled into the rules that the guard reads.

A request may tighten what the policy says, never loosen it (guard.md §1).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import Code, CodedError, Range, Repair, pointer
from evalward.guard.admission.blocklist import TEXT_OF
from evalward.guard.binding import BINDING_KINDS, BindingKind, similar_kinds
from evalward.guard.constructs.labels import RULESET_NUMBER, audited_under
from evalward.guard.rules import Action, BlocklistMode, Limits, Rules
from evalward.guard.target import Profile, Target
from evalward.guard.verdict import KEYWORD_PREFIX
from evalward.policy.fields import BINDING_NAME, RESERVED_BINDINGS

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from evalward.policy.model import Policy

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
    """What a request says beside its payload; None and empty mean that the policy's own value holds.

    ``exempt`` is not the request's to say: the policy's exception for its payload does.
    """

    target: Target
    profile: Profile | None = None
    limits: Limits | None = None
    bindings: frozenset[tuple[str, str]] = frozenset()
    exempt: frozenset[str] = frozenset()


def compile_rules(policy: Policy, request: Request) -> Rules:
    """Return the rules for one request; raise OverrideRefusedError or BindingInvalidError."""
    section = policy.for_target(request.target)
    own_profile = policy.profile_for(request.target)
    mode = policy.blocklist.mode
    if mode is None:
        mode = BlocklistMode.SUBSTRING if own_profile is Profile.SEED else BlocklistMode.CONFIRMED
    profile = _profile(own_profile, request.profile)
    return Rules(
        allowed=section.allowed,
        profile=profile,
        keywords=tuple(
            word
            for word in policy.blocklist.keywords()
            if KEYWORD_PREFIX + word.id not in request.exempt
            and TEXT_OF.get(word.id, frozenset()).isdisjoint(request.exempt)
        ),
        blocklist_mode=mode,
        limits=_limits(policy.limits.compiled(), request.limits),
        actions=MappingProxyType(
            {
                **_staged(policy.ruleset, profile),
                **policy.constructs,
                **section.constructs,
                **_audited(request.exempt),
            }
        ),
        process_reads=policy.process_reads,
        env_names=policy.env_names,
        bindings=_bindings(section.bindings, request.bindings),
    )


def _audited(exempt: frozenset[str]) -> Mapping[str, Action]:
    return {name: Action.AUDIT for name in sorted(exempt) if not name.startswith(KEYWORD_PREFIX)}


def _staged(ruleset: int | None, profile: Profile) -> Mapping[str, Action]:
    if profile is not Profile.BALANCED:
        return {}
    return dict.fromkeys(sorted(audited_under(ruleset or RULESET_NUMBER)), Action.AUDIT)


def _profile(own: Profile, wish: Profile | None) -> Profile:
    if wish is None:
        return own
    if _STRICTNESS[wish] < _STRICTNESS[own]:
        allowed = [name for name, rank in _STRICTNESS.items() if rank >= _STRICTNESS[own]]
        raise OverrideRefusedError(
            f"The policy requires profile {own}; a request may not loosen it to {wish}.",
            Repair(field="/profile", allowed=allowed),
        )
    return wish


def _limits(own: Limits, wish: Limits | None) -> Limits:
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


def _bindings(own: Mapping[str, str], wish: frozenset[tuple[str, str]]) -> Mapping[str, str]:
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
                f"{name} is the realm's own name and cannot be bound.",
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
