"""Shadow mode and exceptions: what a policy permits although the guard denies it (service.md, Policy).

Pure functions of a verdict, sections of a policy, and the current day (UTC), which the caller supplies.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, model_validator

from evalward.errors import Code, canonical_json
from evalward.guard.constructs.labels import UNSWITCHABLE_LABELS, is_known_label
from evalward.guard.rules import Enforcement, Hardening
from evalward.guard.verdict import KEYWORD_PREFIX
from evalward.policy.fields import PlainText, Sha256, TargetName, ToolName, problem

if TYPE_CHECKING:
    from evalward.guard.target import Target
    from evalward.guard.verdict import Verdict

# Admission, encoding and the target's opt-in are never shadowed, nor a payload that does not parse.
_SHADOWED = frozenset({Code.EVAL_BLOCKED_CONSTRUCT, Code.EVAL_BLOCKED_KEYWORD, Code.EVAL_ANALYSIS_LIMIT})
_ID_DIGITS = 16


def _day(value: Any) -> Any:
    if isinstance(value, datetime) or not isinstance(value, (str, date)):
        raise problem("day", "not a day", "a date such as 2027-03-31")
    return value


Day = Annotated[date, BeforeValidator(_day)]


def _mode(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


class EnforcementPolicy(BaseModel):
    """``mode``, and the last day (UTC) on which ``audit`` holds; from the next day on it is ``enforce``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Enforcement = Enforcement.ENFORCE
    until: Day | None = None

    def on(self, today: date) -> Enforcement:
        """Return the enforcement on ``today``."""
        return Enforcement.ENFORCE if self.until is not None and today > self.until else self.mode


EnforcementField = Annotated[
    EnforcementPolicy, BeforeValidator(_mode, json_schema_input_type=Enforcement | EnforcementPolicy)
]


def _hardening(value: Any) -> Any:
    # YAML 1.1 reads a bare `off` as false.
    return Hardening.OFF if value is False else value


HardeningField = Annotated[Hardening, BeforeValidator(_hardening, json_schema_input_type=Hardening)]


class ToolPolicy(BaseModel):
    """The settings of one tool of the manifest, which refine those of its target: at least one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enforcement: EnforcementField | None = None
    hardening: HardeningField | None = None

    @model_validator(mode="after")
    def _check(self) -> ToolPolicy:
        if self.enforcement is None and self.hardening is None:
            raise problem("empty", "sets nothing", "enforcement, hardening")
        return self


def _exempted(name: Any) -> Any:
    if not isinstance(name, str):
        return name
    if name.startswith(KEYWORD_PREFIX):
        return name  # Policy itself checks that the id exists
    if not is_known_label(name):
        raise problem(
            "label", "not a construct label", "the labels of `evalward explain --list`, keyword:<id>"
        )
    if name in UNSWITCHABLE_LABELS:
        raise problem("switch", f"{name} hides code from the guard", "any other construct")
    return name


Exempted = Annotated[StrictStr, Field(min_length=1, max_length=128), BeforeValidator(_exempted)]


class PolicyException(BaseModel):
    """One vetted payload that may pass until the day ``expires`` (UTC, that day included).

    ``constructs`` are the labels that it may reach, and ``keyword:<id>`` for a word of the blocklist; what else it
    reaches still denies it. A construct includes the built-in keyword that is its own text (``eval()`` includes
    ``keyword:eval(``). A payload that does not parse is never permitted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Sha256
    targets: Annotated[tuple[TargetName, ...], Field(min_length=1)]
    tools: Annotated[tuple[ToolName, ...], Field(min_length=1)] | None = None
    constructs: tuple[Exempted, ...]
    reason: PlainText
    owner: PlainText
    expires: Day

    @property
    def id(self) -> str:
        """Its name in the audit log: the first 16 hex digits of the SHA-256 of its canonical JSON."""
        return hashlib.sha256(canonical_json(self.model_dump(mode="json"))).hexdigest()[:_ID_DIGITS]

    def covers(self, *, target: Target, tool: str | None, today: date) -> bool:
        """Return whether it applies to a call today; one with tools applies only to calls that name one of them."""
        return (
            today <= self.expires
            and target in self.targets
            and (self.tools is None or (tool is not None and tool in self.tools))
        )

    def lets_through(self, verdict: Verdict) -> bool:
        """Return whether an allow depends on this exception.

        A disabled keyword leaves no trace in a verdict, so an exception for a keyword always counts.
        """
        return any(name.startswith(KEYWORD_PREFIX) for name in self.constructs) or any(
            finding.construct in self.constructs for finding in verdict.shadow
        )

    @model_validator(mode="after")
    def _check(self) -> PolicyException:
        for name, values in (("targets", self.targets), ("constructs", self.constructs)):
            if len(set(values)) < len(values):
                raise problem("repeated", f"{name} repeats a name", "each name once")
        if not self.constructs:
            raise problem("empty", "constructs names nothing", "at least one construct or keyword")
        return self


def settled(verdict: Verdict, *, enforcement: Enforcement, exception: PolicyException | None) -> Verdict:
    """Return ``verdict`` under the policy: with ``audit``, a denial for what the code does becomes an allow.

    ``exception`` is the one under whose rules the payload was judged, if any.
    """
    if exception is not None and verdict.allowed and exception.lets_through(verdict):
        verdict = replace(verdict, exception_id=exception.id)
    if enforcement is Enforcement.ENFORCE:
        return verdict
    verdict = replace(verdict, enforcement=enforcement)
    if verdict.code not in _SHADOWED or verdict.construct in UNSWITCHABLE_LABELS:
        return verdict
    return replace(
        verdict,
        code=None,
        construct=None,
        keyword=None,
        location=None,
        limit=None,
        message="",
        findings=(),
        findings_total=0,
        shadow=(*(each for each in verdict.findings if each.keyword is None), *verdict.shadow),
        withheld=verdict,
    )
