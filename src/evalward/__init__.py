"""Evalward: the sidecar that an MCP dispatcher asks before it evaluates JavaScript that an agent wrote.

>>> from evalward import Policy, validate
>>> validate(b"document.title", target="renderer", policy=Policy.default().allowing(["renderer"])).allowed
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalward.api import validate as validate
    from evalward.codes import Code as Code
    from evalward.guard.target import Profile as Profile
    from evalward.guard.target import Shape as Shape
    from evalward.guard.target import Target as Target
    from evalward.guard.verdict import Finding as Finding
    from evalward.guard.verdict import Location as Location
    from evalward.guard.verdict import TraceStep as TraceStep
    from evalward.guard.verdict import Verdict as Verdict
    from evalward.judging.preparing import prepare_runtime as prepare_runtime
    from evalward.judging.verdict_cache import VerdictCache as VerdictCache
    from evalward.policy import Policy as Policy

_HOME = {
    "Code": "evalward.codes",
    "Finding": "evalward.guard.verdict",
    "Location": "evalward.guard.verdict",
    "Policy": "evalward.policy",
    "Profile": "evalward.guard.target",
    "Shape": "evalward.guard.target",
    "Target": "evalward.guard.target",
    "TraceStep": "evalward.guard.verdict",
    "Verdict": "evalward.guard.verdict",
    "VerdictCache": "evalward.judging.verdict_cache",
    "prepare_runtime": "evalward.judging.preparing",
    "validate": "evalward.api",
}


def __getattr__(name: str) -> Any:
    # Resolved on first use: `evalward health` and a client must not pay for the parser and pydantic.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
