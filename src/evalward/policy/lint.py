"""Warnings about a valid policy, for the operator (service.md, Policy)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.rules import Action, BlocklistMode, Enforcement, Hardening
from evalward.guard.target import Profile, Target
from evalward.policy.issues import Issue
from evalward.policy.suggest import TO_FILL_IN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from evalward.policy.enforcement import EnforcementPolicy
    from evalward.policy.model import Policy

SOON = timedelta(days=30)


def warnings_of(policy: Policy, *, today: date) -> list[Issue]:
    """Return the warnings for the operator; ``today`` is the day in UTC."""
    return [
        *_targets(policy),
        *_actions(policy),
        *_blocklist(policy),
        *_shadow(policy, today),
        *_hardening(policy, today),
        *_exceptions(policy, today),
    ]


def _targets(policy: Policy) -> Iterator[Issue]:
    if not policy.allowed_targets:
        yield Issue("targets", "no target is opted in, so that every payload is denied")
    for target in policy.allowed_targets:
        if policy.profile_for(target) is Profile.SEED:
            yield Issue(f"targets.{target}", "the profile seed is for comparisons and is easily bypassed")
    if policy.for_target(Target.MAIN).allowed and policy.profile_for(Target.MAIN) is Profile.BALANCED:
        yield Issue("targets.main", "main has the rights of the user", "profile: strict catches more there")


def _actions(policy: Policy) -> Iterator[Issue]:
    yield from _repeated("constructs", policy.constructs, {})
    for target, section in policy.targets.items():
        yield from _repeated(f"targets.{target}.constructs", section.constructs, policy.constructs)


def _repeated(field: str, actions: Mapping[str, Action], above: Mapping[str, Action]) -> Iterator[Issue]:
    for label, action in actions.items():
        construct = CONSTRUCTS.get(label)
        default = above.get(label, construct.default if construct else Action.BLOCK)
        if action is default:
            yield Issue(f"{field}.{label}", f"{action} is the default without this line")


def _blocklist(policy: Policy) -> Iterator[Issue]:
    if policy.blocklist.mode is BlocklistMode.SUBSTRING and policy.profile is not Profile.SEED:
        yield Issue("blocklist.mode", "substring blocks text that only mentions a word", "confirmed")


def _shadow(policy: Policy, today: date) -> Iterator[Issue]:
    sections: dict[str, EnforcementPolicy | None] = {"enforcement": policy.enforcement}
    sections |= {f"targets.{target}.enforcement": each.enforcement for target, each in policy.targets.items()}
    sections |= {f"tools.{name}.enforcement": each.enforcement for name, each in policy.tools.items()}
    for field, section in sections.items():
        if section is None or section.mode is Enforcement.ENFORCE:
            continue
        if section.until is None:
            yield Issue(
                field, "audit has no end: nothing is denied until it is switched off", "until: a date"
            )
        elif section.until < today:
            yield Issue(field, f"audit ended on {section.until}; enforce holds")


def _hardening(policy: Policy, today: date) -> Iterator[Issue]:
    for target in policy.allowed_targets:
        mode = policy.for_target(target).hardening or policy.hardening
        is_audit = policy.enforcement_for(target, tool=None, today=today) is Enforcement.AUDIT
        field = "hardening" if policy.for_target(target).hardening is None else f"targets.{target}.hardening"
        if mode is Hardening.REQUIRED and is_audit:
            yield Issue(field, f"required denies payloads that audit mode allows in {target}", "offered")
    for name, tool in policy.tools.items():
        if tool.hardening is Hardening.OFF and policy.hardening is Hardening.REQUIRED:
            yield Issue(f"tools.{name}.hardening", "off runs payloads as they are, which the policy forbids")


def _exceptions(policy: Policy, today: date) -> Iterator[Issue]:
    seen: set[str] = set()
    for number, each in enumerate(policy.exceptions):
        field = f"exceptions.{number}"
        if each.expires < today:
            yield Issue(field, f"expired on {each.expires} ({each.owner}): it has no effect")
        elif each.expires <= today + SOON:
            yield Issue(field, f"expires on {each.expires} ({each.owner})")
        denied = [target for target in each.targets if not policy.for_target(target).allowed]
        if denied:
            yield Issue(f"{field}.targets", f"{', '.join(denied)} is not opted in")
        if TO_FILL_IN in (each.reason, each.owner):
            yield Issue(field, f"a draft that is in force: its reason or owner is still {TO_FILL_IN}")
        if each.id in seen:
            yield Issue(field, "repeats an exception above it")
        seen.add(each.id)
