"""Misses as corpus cases, so that they become regression tests."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import yaml

from evalward.corpus.corpus_case import load_cases
from evalward.fuzz.axes import AXES, load_axes
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET
from evalward.fuzz.shrink import significant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from evalward.fuzz.campaign_report import MissClass


def append_cases(file: Path, classes: Iterable[MissClass]) -> int:
    """Append each class that ``file`` lacks as a case; return how many were added.

    Raises CorpusError when ``file`` exists and is no corpus file.
    """
    known = {case.id for case in load_cases([file])} if file.exists() and file.stat().st_size else set()
    fresh = [case for case in map(_case, classes) if case["id"] not in known]
    if fresh:
        text = yaml.safe_dump(fresh, sort_keys=False, allow_unicode=True, width=10_000)
        with file.open("a", encoding="utf-8") as out:
            out.write(text)
    return len(fresh)


def _case(each: MissClass) -> dict[str, Any]:
    plan, program = each.shrunk, compose(each.shrunk)
    road = load_axes().road[plan.row[AXES.index("road")]]
    about = ", ".join(f"{axis} {name}" for axis, name in significant(plan).items()) or "plain"
    digest = hashlib.sha256(program.text.encode()).hexdigest()[:10]
    shape = {"shape": program.shape.value} if program.shape else {}
    return {
        "id": f"fuzz/{road.name}/{digest}",
        "code": program.text,
        "target": TARGET.value,
        **shape,
        "expect": "block",
        "reaches": road.reaches,
        "source": "evalward",
        "technique": about,
    }
