"""What the commands that need no server share: their policy, their options' values, their provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from evalward.guard.target import TARGET_ALIASES, Target, parse_target
from evalward.policy import Policy, load_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from evalward.errors import Provenance
    from evalward.guard.target import Profile


def policy_in_force(
    file: Path | None, *, opt_in: Iterable[Target], profile: Profile | None, max_bytes: int | None = None
) -> Policy:
    """Return the policy of ``file``, or the default one with the targets of ``opt_in`` opted in.

    ``profile`` and ``max_bytes`` (the payload size limit) replace what the policy says: whoever types the
    command is the operator. Raises CodedError when the file is no policy.
    """
    policy = Policy.default().allowing(opt_in) if file is None else load_policy(file)
    if profile is not None:
        policy = policy.with_profile(profile)
    if max_bytes is not None:
        limits = {**policy.limits.model_dump(), "payload_bytes": max_bytes}
        policy = Policy.model_validate({**policy.model_dump(), "limits": limits})
    return policy


def provenance(policy: Policy | None) -> Provenance:
    """Return what every envelope says about what produced it (seed 003); None when no policy is in force."""
    from importlib.metadata import version  # noqa: PLC0415 - reads the file system; `--format text` needs none of it

    from evalward.errors import Provenance  # noqa: PLC0415
    from evalward.guard import GRAMMAR, RULESET  # noqa: PLC0415

    return Provenance(version("evalward"), policy.digest if policy else "unknown", RULESET, GRAMMAR)


def target_option(name: str) -> Target:
    """Parse ``--target``; an unknown name is a usage error that lists the allowed ones."""
    try:
        return parse_target(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def bindings_option(pairs: Iterable[str]) -> Mapping[str, str]:
    """Parse the ``NAME=KIND`` of every ``--bind``."""
    bindings: dict[str, str] = {}
    for pair in pairs:
        name, equals, kind = pair.partition("=")
        if not (name and equals and kind):
            raise typer.BadParameter(f"{pair!r} is not NAME=KIND, such as page=playwright.page")
        bindings[name] = kind
    return bindings


def complete_target() -> list[str]:
    """Return what a shell offers after ``--target``."""
    return [*Target, *TARGET_ALIASES]
