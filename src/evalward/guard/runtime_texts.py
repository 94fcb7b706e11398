"""The built run-times of hardened output, read without the emitter (harden.md §3)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from evalward.guard.target import Target

_PROFILES: Final = {
    Target.MAIN: "main",
    Target.NODE: "main",
    Target.RENDERER: "renderer",
    Target.SANDBOX: "sandbox",
}
_VERSION_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class Runtime:
    """The text of a run-time, an expression whose value is a function of the configuration, and its version."""

    text: str
    version: str


@cache
def runtime_for(target: Target) -> Runtime:
    """Return the run-time for ``target``; its version is the start of the SHA-256 of its text."""
    built = files(__package__) / "harden" / "built" / f"{_PROFILES[target]}.js"
    text = built.read_text(encoding="ascii").strip()
    return Runtime(text, hashlib.sha256(text.encode()).hexdigest()[:_VERSION_LENGTH])
