"""The traps as one script, and the world that each target's payload expects around it (``hosts.json``)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.target import Target

# In this order: each part uses what those before it define.
_PARTS = ("log.js", "intrinsics.js", "hosts.js", "platform.js", "run.js")

SAMPLE_ARGUMENT = json.dumps(
    {
        "x": 20, "y": 2, "name": "Ada", "id": "a1", "key": "name", "path": "a.b", "text": "hello", "url": "/api",
        "items": [1, 2, 3], "rows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "a": {"b": 1},
    }
)  # fmt: skip
"""What ``arg`` is when a case does not say: ordinary JSON with the names that snippets use."""


def source(part: str) -> str:
    """Return the text of one of the JavaScript files shipped beside this module."""
    return files(__package__).joinpath("js", part).read_text(encoding="utf-8")


@cache
def traps_script() -> str:
    """Return an expression: a function of (emit, config) that installs the traps and returns the harness."""
    parts = "\n".join(source(part) for part in _PARTS)
    return (
        "(function (emit, config) {\n'use strict';\nconst G = globalThis;\n"
        f"{parts}\ninstall();\nreturn {{ settle, fail, finish, evaluate: globalEval }};\n}})"
    )


@cache
def _hosts() -> dict[str, Any]:
    hosts: dict[str, Any] = json.loads(files(__package__).joinpath("hosts.json").read_text(encoding="utf-8"))
    return hosts


def trap_config(
    target: Target, *, argument: str = SAMPLE_ARGUMENT, bindings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the configuration of the traps for ``target``; ``bindings`` as in policy, ``argument`` JSON text."""
    hosts = _hosts()
    bound = {"arg": "json"} | dict(bindings or {})
    return {
        **{key: value for key, value in hosts.items() if key != "targets"},
        "first": None,
        **hosts["targets"][target.value],
        "platform": True,
        "bindings": sorted(bound.items()),
        "arg": argument,
    }
