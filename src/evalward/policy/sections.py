"""The sections of a policy file, as frozen Pydantic models: one target, the blocklist, the limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from evalward.guard.constructs.labels import UNSWITCHABLE_LABELS
from evalward.guard.rules import SEED_KEYWORDS, Action, BlocklistMode, Keyword, Limits
from evalward.guard.target import Profile  # noqa: TC001 - Pydantic reads the annotations
from evalward.policy.enforcement import EnforcementField, HardeningField  # noqa: TC001 - the same
from evalward.policy.fields import (
    AS_DICT,
    FROZEN,
    Bindings,
    KeywordId,
    KeywordText,
    Label,
    PayloadBytes,
    SeedKeyword,
    problem,
)

Constructs = Annotated[Mapping[Label, Action], FROZEN, AS_DICT]


class Section(BaseModel):
    """A part of a policy: immutable, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


def refuse_unswitchable(constructs: Mapping[str, Action]) -> None:
    """Raise a validation error if a construct that hides code from the guard is not blocked."""
    for label, action in constructs.items():
        if label in UNSWITCHABLE_LABELS and action is not Action.BLOCK:
            raise problem("switch", f"{label} hides code from the guard", f"{label}: block")


class TargetPolicy(Section):
    """The settings of one target: ``allowed`` is its opt-in; the rest refines the policy's own fields."""

    allowed: StrictBool = False
    profile: Profile | None = None
    constructs: Constructs = Field(default_factory=dict)
    bindings: Bindings = Field(default_factory=dict)
    enforcement: EnforcementField | None = None
    hardening: HardeningField | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_unswitchable(self.constructs)
        return self


class AddedKeyword(Section):
    """A text that the blocklist looks for in the raw payload; the log contains only ``id``."""

    id: KeywordId
    text: KeywordText


class Blocklist(Section):
    """The keyword list. ``mode`` None follows the profile: seed means substring, else confirmed."""

    mode: BlocklistMode | None = None
    add: tuple[AddedKeyword, ...] = ()
    remove: tuple[SeedKeyword, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for what, names in (
            ("id", [word.id for word in self.add]),
            ("text", [word.text for word in self.add] + list(SEED_KEYWORDS)),
        ):
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise problem("repeated", f"add repeats the {what} {repeated[0]}", f"each {what} once")
        return self

    def keywords(self) -> tuple[Keyword, ...]:
        """Return the list in force: the seed's words without the removed ones, then the added ones."""
        kept = [Keyword(text, text) for text in SEED_KEYWORDS if text not in self.remove]
        return (*kept, *(Keyword(word.id, word.text) for word in self.add))


class LimitsPolicy(Section):
    """Counted limits: bytes of payload, levels of nesting, nodes per 64 KiB, steps of the resolver."""

    payload_bytes: PayloadBytes = Limits().payload_bytes
    depth: Annotated[StrictInt, Field(ge=1, le=10_000)] = Limits().depth
    nodes: Annotated[StrictInt, Field(ge=1, le=1_000_000)] = Limits().nodes_per_64k
    steps: Annotated[StrictInt, Field(ge=1, le=100_000_000)] = Limits().steps

    def compiled(self) -> Limits:
        """Return the limits as the guard reads them."""
        return Limits(
            payload_bytes=self.payload_bytes, depth=self.depth, nodes_per_64k=self.nodes, steps=self.steps
        )
