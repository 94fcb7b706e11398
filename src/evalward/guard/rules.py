"""The effective policy for one target: plain frozen data, compiled by ``evalward.policy``."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from evalward.guard.binding import BINDING_KINDS
from evalward.guard.target import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

SEED_KEYWORDS = ("process.exit", "require(", "eval(", "Function(", "__proto__", "child_process")


class Action(StrEnum):
    """What policy does with a construct."""

    BLOCK = "block"
    AUDIT = "audit"
    ALLOW = "allow"


class Enforcement(StrEnum):
    """``enforce``: what policy blocks is denied; ``audit``: it may run, and is recorded as a would-be denial."""

    ENFORCE = "enforce"
    AUDIT = "audit"


class Hardening(StrEnum):
    """Whether an ALLOW carries a hardened program: never, where one can be made, or always, else it is a denial."""

    OFF = "off"
    OFFERED = "offered"
    REQUIRED = "required"


class BlocklistMode(StrEnum):
    """``substring``: any occurrence counts; ``confirmed``: unless the tree shows that it is harmless."""

    SUBSTRING = "substring"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True)
class Keyword:
    """A blocklisted text; only ``id`` is ever logged."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Counted limits: they never depend on a clock (guard.md §1, §4).

    ``steps`` is the resolver's budget for the largest payloads; smaller ones get less, in proportion.
    """

    payload_bytes: int = 128 * 1024
    depth: int = 2_000
    nodes_per_64k: int = 100_000
    steps: int = 300_000


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything of a policy that decides about one payload for one target.

    ``allowed`` is the target's opt-in (default deny). ``actions`` holds the actions that differ from a construct's
    default. ``bindings`` maps a name that the sink binds to the kind of its value, such as
    ``{"electronApp": "electron", "page": "playwright.page", "arg": "json"}``. Raise ValueError for a kind that is
    no ``BindingKind``.
    """

    allowed: bool = False
    profile: Profile = Profile.BALANCED
    keywords: tuple[Keyword, ...] = tuple(Keyword(text, text) for text in SEED_KEYWORDS)
    blocklist_mode: BlocklistMode = BlocklistMode.CONFIRMED
    limits: Limits = field(default_factory=Limits)
    actions: Mapping[str, Action] = field(default_factory=lambda: MappingProxyType({}))
    process_reads: frozenset[str] = frozenset()
    env_names: frozenset[str] = frozenset()
    bindings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        if not BINDING_KINDS.issuperset(self.bindings.values()):
            raise ValueError(f"a binding's kind is one of {', '.join(sorted(BINDING_KINDS))}")
