"""The realm in which a payload would run, its syntactic shape, and the profile (guard.md §1, §3)."""

from __future__ import annotations

from enum import StrEnum


class Target(StrEnum):
    """The realm that would evaluate a payload."""

    MAIN = "main"  # Electron's main process, or Node
    RENDERER = "renderer"  # a page
    NODE = "node"  # driver code that holds a Playwright or Puppeteer page
    SANDBOX = "sandbox"  # Evalward's own QuickJS guest


class Shape(StrEnum):
    """The wrapper that the sink puts around the text before it parses it."""

    SCRIPT = "script"
    EXPRESSION = "expression"
    FUNCTION = "function"
    ASYNC_BODY = "async_body"
    MODULE = "module"


class Profile(StrEnum):
    """How much the guard must prove before it allows a payload."""

    BALANCED = "balanced"
    STRICT = "strict"
    SEED = "seed"


TARGET_ALIASES = {"page": Target.RENDERER}


def parse_target(name: str) -> Target:
    """Return the target called ``name``; raise ValueError that lists the allowed names."""
    if name in TARGET_ALIASES:
        return TARGET_ALIASES[name]
    try:
        return Target(name)
    except ValueError:
        allowed = ", ".join([*Target, *TARGET_ALIASES])
        raise ValueError(f"unknown target {name!r}; allowed: {allowed}") from None
