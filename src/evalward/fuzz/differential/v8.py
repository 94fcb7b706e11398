"""Run a text in V8 in every shape, and report which of its probes run. One Node process per batch."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from evalward.guard.syntax.wrap import BARE_SUFFIXES, WRAPPERS
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

_BATCH_SECONDS: Final = 120

# A sink may lack the line break before its suffix.
_SINKS: Final = [
    *((shape, wrapper.prefix.decode(), wrapper.suffix.decode()) for shape, wrapper in WRAPPERS.items()),
    *((shape, WRAPPERS[shape].prefix.decode(), suffix.decode()) for shape, suffix in BARE_SUFFIXES.items()),
]

Runs = dict[Shape, frozenset[str]]
"""For each shape in which V8 accepts a text, the probes that ran: ``P0`` was read, ``P0()`` was called."""


def missing() -> str | None:
    """Return why V8 is not available, or None."""
    return None if shutil.which("node") else "node is not installed"


def run_in_v8(texts: Sequence[str], *, only: Shape | None = None) -> list[Runs]:
    """Run each text in every sink, or in those of one shape. Raises FileNotFoundError without Node.

    A text that crashes V8 counts as rejected: Node 20 aborts while it parses some invalid classes.
    """
    if not texts:
        return []
    node = shutil.which("node")
    if node is None:
        raise FileNotFoundError("node is not installed")
    sinks = [sink for sink in _SINKS if only in (None, sink[0])]
    script = files("evalward.fuzz.differential").joinpath("sinks.js").read_text(encoding="utf-8")
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command line, no shell
            [node, "--no-warnings", "--experimental-vm-modules", "--eval", script],
            input=json.dumps({"sinks": sinks, "texts": list(texts)}).encode(),
            capture_output=True,
            check=True,
            timeout=_BATCH_SECONDS,
            env={},
        )
        rows = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        half = len(texts) // 2
        return run_in_v8(texts[:half], only=only) + run_in_v8(texts[half:], only=only) if half else [{}]
    return [_runs([sink[0] for sink in sinks], row) for row in rows]


def _runs(shapes: Sequence[Shape], row: Sequence[Sequence[str] | None]) -> Runs:
    found: Runs = {}
    for shape, ran in zip(shapes, row, strict=True):
        if ran is not None:
            found[shape] = found.get(shape, frozenset()) | frozenset(ran)
    return found
