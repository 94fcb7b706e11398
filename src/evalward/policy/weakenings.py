"""The controls that a policy weakens, by name, for the START record (service.md, Audit log).

Names consist of words of this module, targets, labels of the catalogue and numbers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.constructs.labels import RULESET_NUMBER, catalogue_label
from evalward.guard.rules import Action, Enforcement, Hardening
from evalward.guard.target import Profile
from evalward.policy.model import Policy
from evalward.policy.sections import LimitsPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

_STRENGTH: Final = (Action.ALLOW, Action.AUDIT, Action.BLOCK)
_DEFAULT: Final = Policy.default()


def weakened_by(policy: Policy, *, today: date) -> tuple[str, ...]:
    """Return the name of every control that ``policy`` weakens on ``today`` (UTC), each once."""
    return tuple(
        dict.fromkeys(
            (
                *_targets(policy, today),
                *_constructs(policy),
                *_tools(policy, today),
                *_everywhere(policy),
                *_fields(policy),
            )
        )
    )


def _targets(policy: Policy, today: date) -> Iterator[str]:
    for target in policy.allowed_targets:
        if policy.profile_for(target) is Profile.SEED:
            yield f"profile-seed={target}"
    for target in policy.allowed_targets:
        if policy.enforcement_for(target, tool=None, today=today) is Enforcement.AUDIT:
            yield f"enforcement-audit={target}"
    for target in policy.allowed_targets:
        if (policy.for_target(target).hardening or policy.hardening) is Hardening.OFF:
            yield f"hardening-off={target}"


def _constructs(policy: Policy) -> Iterator[str]:
    for target in policy.allowed_targets:
        usual = _DEFAULT.rules_for(target).actions
        for label, action in sorted(policy.rules_for(target).actions.items()):
            known = CONSTRUCTS.get(label)
            default = usual.get(label, known.default if known else Action.BLOCK)
            if _STRENGTH.index(action) < _STRENGTH.index(default):
                yield f"construct-{action}={catalogue_label(label)}"


def _tools(policy: Policy, today: date) -> Iterator[str]:
    tools = policy.tools.values()
    if any(each.enforcement and each.enforcement.on(today) is Enforcement.AUDIT for each in tools):
        yield "enforcement-audit=tools"
    if any(each.hardening is Hardening.OFF for each in tools):
        yield "hardening-off=tools"


def _everywhere(policy: Policy) -> Iterator[str]:
    if policy.exceptions:
        yield "exceptions"
    if policy.allow_weak:
        yield "allow-weak"
    if policy.blocklist.remove:
        yield "blocklist-remove"
    if policy.process_reads:
        yield "process-reads"
    if policy.env_names:
        yield "env-names"
    if policy.ruleset is not None and policy.ruleset < RULESET_NUMBER:
        yield f"ruleset={policy.ruleset}"
    for name in LimitsPolicy.model_fields:
        size = getattr(policy.limits, name)
        if size > getattr(_DEFAULT.limits, name):
            yield f"limit-{name.replace('_', '-')}={size}"


def _fields(policy: Policy) -> Iterator[str]:
    if policy.fields.url_schemes - _DEFAULT.fields.url_schemes:
        yield "url-schemes"
    if policy.fields.launch:
        yield "launch-values"
    if policy.fields.paths:
        yield "paths"
