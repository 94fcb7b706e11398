"""Shared parts of the commands that need no server: policy, option values, provenance."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import typer

from evalward.guard.binding import BINDING_KINDS, BindingKind, similar_kinds
from evalward.guard.sinks import sinks
from evalward.guard.target import TARGET_ALIASES, Profile, Shape, Target, parse_target
from evalward.policy import Policy, load_policy
from evalward.policy.named_sink import UnknownSink, asked_sink
from evalward.similar import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evalward.errors import Provenance
    from evalward.guard.sinks import Sink


E = TypeVar("E", bound=StrEnum)


def policy_in_force(
    file: Path | None, *, opt_in: Iterable[Target], profile: Profile | None, max_bytes: int | None = None
) -> Policy:
    """Return the policy of ``file``, or the default one with the targets of ``opt_in`` opted in.

    ``profile`` and ``max_bytes`` (the payload size limit) replace the policy's values: the user of the command line
    is the operator. Raises CodedError when the file is not a valid policy.
    """
    policy = Policy.default().allowing(opt_in) if file is None else load_policy(file)
    if profile is not None:
        policy = policy.with_profile(profile)
    if max_bytes is not None:
        limits = {**policy.limits.model_dump(), "payload_bytes": max_bytes}
        policy = Policy.model_validate({**policy.model_dump(), "limits": limits})
    return policy


def provenance(policy: Policy | None) -> Provenance:
    """Return the provenance for envelopes (seed 003); ``policy`` is None if none is in force."""
    from importlib.metadata import version  # noqa: PLC0415 - reads the file system; `--format text` needs none of it

    from evalward.errors import Provenance  # noqa: PLC0415
    from evalward.guard import GRAMMAR, RULESET  # noqa: PLC0415

    return Provenance(version("evalward"), policy.digest if policy else "unknown", RULESET, GRAMMAR)


def target_option(name: str) -> Target:
    """Parse ``--target``; an unknown name is a usage error that lists the allowed ones."""
    try:
        return parse_target(name)
    except ValueError as error:
        meant = did_you_mean(name, [*Target, *TARGET_ALIASES])
        raise typer.BadParameter(f"{error}{meant}") from None


def profile_option(name: str) -> Profile:
    """Parse ``--profile``."""
    return _member(Profile, name, "profile")


def shape_option(name: str) -> Shape:
    """Parse ``--shape``."""
    return _member(Shape, name, "shape")


def _member(members: type[E], name: str, what: str) -> E:
    try:
        return members(name)
    except ValueError:
        known = [*members]
        raise typer.BadParameter(
            f"there is no {what} {name[:80]!a}{did_you_mean(name, known)}; there are {', '.join(known)}"
        ) from None


def sink_option(name: str, *, target: Target | None, shape: str | None, bindings: Mapping[str, str]) -> Sink:
    """Return the sink of ``--sink``; an unknown or contradicted one is a usage error with the allowed names."""
    try:
        return asked_sink(name, target=target, shape=shape, bindings=bindings)
    except UnknownSink as refusal:
        repair = refusal.repair
        allowed = [] if repair is None or repair.allowed is None else repair.allowed
        names = dict.fromkeys([*refusal.similar_refs, *allowed])
        hint = f" Allowed: {', '.join(names)}." if names else ""
        raise typer.BadParameter(f"{refusal.message}{hint}") from None


def complete_sink(incomplete: str) -> list[str]:
    """Return the sinks that begin with the typed text."""
    return [name for name in sinks() if name.startswith(incomplete)]


def bindings_option(pairs: Iterable[str]) -> Mapping[str, str]:
    """Parse the ``NAME=KIND`` of every ``--bind``."""
    bindings: dict[str, str] = {}
    for pair in pairs:
        name, equals, kind = pair.partition("=")
        if not (name and equals and kind):
            raise typer.BadParameter(f"{pair!r} is not NAME=KIND, such as page=playwright.page")
        if kind not in BINDING_KINDS:
            meant = similar_kinds(kind)
            guess = f"; did you mean {meant[0]}?" if meant else ""
            raise typer.BadParameter(
                f"{kind!r} is not a kind of binding{guess} (allowed: {', '.join(BindingKind)})"
            )
        bindings[name] = kind
    return bindings


def complete_target() -> list[str]:
    """Return the completions of ``--target``."""
    return [*Target, *TARGET_ALIASES]
