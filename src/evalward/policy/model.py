"""The policy of an operator (service.md, Policy), as a frozen Pydantic model that compiles the rules of a request."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from evalward.errors import canonical_json
from evalward.guard.admission.blocklist import TEXT_OF
from evalward.guard.constructs.labels import RULESET_NUMBER, audited_under
from evalward.guard.rules import Action, BlocklistMode, Enforcement, Hardening, Limits, Rules
from evalward.guard.target import Profile, Target
from evalward.guard.verdict import KEYWORD_PREFIX
from evalward.policy.enforcement import (
    EnforcementField,
    EnforcementPolicy,
    HardeningField,
    PolicyException,
    ToolPolicy,
)
from evalward.policy.field_values import FieldsPolicy
from evalward.policy.fields import (
    AS_DICT,
    FROZEN,
    ONE_NAME_PER_TARGET,
    EnvNames,
    ProcessReads,
    TargetName,
    ToolName,
    problem,
)
from evalward.policy.override import (
    Request,
    overridden_bindings,
    overridden_hardening,
    overridden_limits,
    overridden_profile,
    stricter_hardening,
)
from evalward.policy.sections import (
    Blocklist,
    Constructs,
    LimitsPolicy,
    Section,
    TargetPolicy,
    refuse_unswitchable,
)

if TYPE_CHECKING:
    from datetime import date

_RULES_CACHE = 256

Targets = Annotated[Mapping[TargetName, TargetPolicy], ONE_NAME_PER_TARGET, FROZEN, AS_DICT]
Tools = Annotated[Mapping[ToolName, ToolPolicy], FROZEN, AS_DICT]
_DENIED = TargetPolicy()


class Policy(Section):
    """One policy file: which targets may evaluate, how much is proven, what is blocked.

    Everything is denied unless a field opts it in. Instances are immutable; ``digest`` is over the *effective*
    policy, so that two spellings of one policy share it. ``ruleset`` pins what profile balanced blocks to that of an
    earlier release, or takes that of the next one; None: this release's.
    """

    api_version: Literal["evalward/v1"] = "evalward/v1"
    profile: Profile = Profile.BALANCED
    ruleset: Annotated[StrictInt, Field(ge=1, le=RULESET_NUMBER + 1)] | None = None
    allow_weak: StrictBool = False
    targets: Targets = Field(default_factory=dict)
    constructs: Constructs = Field(default_factory=dict)
    blocklist: Blocklist = Field(default_factory=Blocklist)
    limits: LimitsPolicy = Field(default_factory=LimitsPolicy)
    process_reads: ProcessReads = frozenset()
    env_names: EnvNames = frozenset()
    enforcement: EnforcementField = Field(default_factory=EnforcementPolicy)
    hardening: HardeningField = Hardening.OFFERED
    tools: Tools = Field(default_factory=dict)
    fields: FieldsPolicy = Field(default_factory=FieldsPolicy)
    exceptions: tuple[PolicyException, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_unswitchable(self.constructs)
        weak = Profile.SEED in {self.profile, *(target.profile for target in self.targets.values())}
        if weak and not self.allow_weak:
            raise problem("weak", "profile seed is for comparisons only", "seed with allow_weak: true")
        keywords = {KEYWORD_PREFIX + word.id for word in self.blocklist.keywords()}
        for exception in self.exceptions:
            for name in exception.constructs:
                if name.startswith(KEYWORD_PREFIX) and name not in keywords:
                    raise problem(
                        "exception", f"exceptions: {name} names no keyword", ", ".join(sorted(keywords))
                    )
        return self

    @classmethod
    def default(cls) -> Policy:
        """Return the policy without any file: balanced, and no target opted in."""
        return cls()

    @property
    def allowed_targets(self) -> tuple[Target, ...]:
        """The targets that are opted in, in the order of Target."""
        return tuple(target for target in Target if self.for_target(target).allowed)

    def for_target(self, target: Target) -> TargetPolicy:
        """Return the section of ``target``; a target that is not listed is denied."""
        return self.targets.get(target, _DENIED)

    def profile_for(self, target: Target) -> Profile:
        """Return the profile that holds for ``target``."""
        return self.for_target(target).profile or self.profile

    def enforcement_for(self, target: Target, *, tool: str | None, today: date) -> Enforcement:
        """Return the enforcement on ``today`` (UTC): the tool's setting, else the target's, else the policy's."""
        named = self.tools.get(tool) if tool is not None else None
        section = (named.enforcement if named else None) or self.for_target(target).enforcement
        return (section or self.enforcement).on(today)

    def hardening_for(
        self,
        target: Target,
        *,
        tool: str | None,
        least: Hardening | None = None,
        wish: Hardening | None = None,
        today: date,
    ) -> Hardening:
        """Return whether an ALLOW carries a hardened program: the tool's setting, else the target's, else the policy's.

        ``least`` is what a manifest declares, which holds where it is stricter. A request's ``wish`` may tighten it;
        raise OverrideRefusedError for ``off`` where it is ``required``. Under ``audit`` nothing that policy blocks is
        denied, so that nothing is ``offered`` there: the program would deny it.
        """
        named = self.tools.get(tool) if tool is not None else None
        section = (named.hardening if named else None) or self.for_target(target).hardening
        mode = overridden_hardening(stricter_hardening(section or self.hardening, least), wish)
        if mode is Hardening.OFFERED:
            is_shadowed = self.enforcement_for(target, tool=tool, today=today) is Enforcement.AUDIT
            return Hardening.OFF if is_shadowed else mode
        return mode

    def exception_for(
        self, code_hash: str, target: Target, *, tool: str | None, today: date
    ) -> PolicyException | None:
        """Return the first exception that covers the payload whose SHA-256 is ``code_hash``, or None."""
        return next(
            (
                each
                for each in self.exceptions
                if each.sha256 == code_hash and each.covers(target=target, tool=tool, today=today)
            ),
            None,
        )

    def allowing(self, targets: Iterable[Target]) -> Policy:
        """Return a copy that also opts ``targets`` in: what the operator's ``--allow-eval`` does."""
        data = self.model_dump()
        for target in targets:
            data["targets"][target] = {**data["targets"].get(target, {}), "allowed": True}
        return Policy.model_validate(data)

    def with_profile(self, profile: Profile) -> Policy:
        """Return a copy in which ``profile`` holds for every target: the operator's choice, seed included.

        A caller's override goes through ``rules_for``, which rejects a looser profile.
        """
        data = self.model_dump()
        data["profile"] = profile
        data["allow_weak"] = self.allow_weak or profile is Profile.SEED
        for section in data["targets"].values():
            section["profile"] = None
        return Policy.model_validate(data)

    def with_ruleset(self, ruleset: int) -> Policy:
        """Return a copy that pins ``ruleset``, at most the one after this release's."""
        return Policy.model_validate({**self.model_dump(), "ruleset": ruleset})

    def rules_for(
        self,
        target: Target,
        *,
        profile: Profile | None = None,
        limits: Limits | None = None,
        bindings: Mapping[str, str] | None = None,
        exception: PolicyException | None = None,
    ) -> Rules:
        """Return the rules for a request; its overrides may tighten the policy, never loosen it.

        Under an ``exception`` its constructs are only audited and its keywords are off. Repeated calls cost a cache
        look-up. Raise OverrideRefusedError (STRICT_CONSTANT_OVERRIDE) for a looser profile or limit or another
        binding, BindingInvalidError (INVALID_INPUT) for a malformed one.
        """
        wishes = frozenset(bindings.items()) if bindings else frozenset()
        exempt = frozenset(exception.constructs) if exception else frozenset()
        return self._rules(Request(target, profile, limits, wishes, exempt))

    @cached_property
    def _rules(self) -> Callable[[Request], Rules]:
        """Return the bounded cache of compiled rules."""
        return lru_cache(maxsize=_RULES_CACHE)(self._compiled)

    def _compiled(self, request: Request) -> Rules:
        section = self.for_target(request.target)
        own_profile = self.profile_for(request.target)
        mode = self.blocklist.mode
        if mode is None:
            mode = BlocklistMode.SUBSTRING if own_profile is Profile.SEED else BlocklistMode.CONFIRMED
        profile = overridden_profile(own_profile, request.profile)
        return Rules(
            allowed=section.allowed,
            profile=profile,
            keywords=tuple(
                word
                for word in self.blocklist.keywords()
                if KEYWORD_PREFIX + word.id not in request.exempt
                and TEXT_OF.get(word.id, frozenset()).isdisjoint(request.exempt)
            ),
            blocklist_mode=mode,
            limits=overridden_limits(self.limits.compiled(), request.limits),
            actions=MappingProxyType(
                {
                    **_staged(self.ruleset, profile),
                    **self.constructs,
                    **section.constructs,
                    **_audited(request.exempt),
                }
            ),
            process_reads=self.process_reads,
            env_names=self.env_names,
            bindings=overridden_bindings(section.bindings, request.bindings),
        )

    def effective(self) -> dict[str, Any]:
        """Return the policy as plain JSON data with every default and every target filled in."""
        own = {target: self.rules_for(target) for target in Target}
        return {
            "api_version": self.api_version,
            "allow_weak": self.allow_weak,
            "targets": {
                target.value: {
                    "allowed": rules.allowed,
                    "profile": rules.profile.value,
                    "constructs": {label: action.value for label, action in rules.actions.items()},
                    "bindings": dict(rules.bindings),
                    "blocklist_mode": rules.blocklist_mode.value,
                    "enforcement": (self.for_target(target).enforcement or self.enforcement).model_dump(
                        mode="json"
                    ),
                    "hardening": (self.for_target(target).hardening or self.hardening).value,
                }
                for target, rules in own.items()
            },
            "keywords": [{"id": word.id, "text": word.text} for word in self.blocklist.keywords()],
            "limits": self.limits.model_dump(),
            "process_reads": sorted(self.process_reads),
            "env_names": sorted(self.env_names),
            "enforcement": self.enforcement.model_dump(mode="json"),
            "hardening": self.hardening.value,
            "tools": {name: tool.model_dump(mode="json") for name, tool in sorted(self.tools.items())},
            "fields": self.fields.effective(),
            "exceptions": [each.model_dump(mode="json") for each in self.exceptions],
        }

    @cached_property
    def digest(self) -> str:
        """Lower-case hex SHA-256 of the canonical JSON of ``effective()``."""
        return hashlib.sha256(canonical_json(self.effective())).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def _audited(exempt: frozenset[str]) -> Mapping[str, Action]:
    return {name: Action.AUDIT for name in sorted(exempt) if not name.startswith(KEYWORD_PREFIX)}


def _staged(ruleset: int | None, profile: Profile) -> Mapping[str, Action]:
    if profile is not Profile.BALANCED:
        return {}
    return dict.fromkeys(sorted(audited_under(ruleset or RULESET_NUMBER)), Action.AUDIT)
