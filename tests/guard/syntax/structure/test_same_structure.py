"""What the guard reads without an ambiguity has the structure that acorn sees: each node at its place, with its role.

``evalward fuzz-syntax`` compares which calls V8 runs; this compares what a call is a part of, what is static, and where
a statement ends.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from structure_nodes import Place, acorn_places, tree_places

from evalward.corpus.corpus_case import load_cases
from evalward.guard.rules import Limits
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.guard.syntax.program import ParsedProgram

ROOT = Path(__file__).parents[4]
PACKAGE = ROOT / "benchmarks" / "node_guards"
HERE = Path(__file__).parent
PIECES: dict[str, list[str]] = yaml.safe_load((HERE / "pieces.yaml").read_text("utf-8"))
# acorn takes a slash behind `of` for a regular expression; V8 divides. The tree calls or indexes `await` before a
# parenthesis or bracket, which lowering and the emitter read again.
MISREAD = re.compile(r"\bof\s*/|\bawait\s*[(\[]")

pytestmark = pytest.mark.skipif(
    not shutil.which("node") or not (PACKAGE / "node_modules" / "acorn").is_dir(),
    reason="node, or npm ci in benchmarks/node_guards, is missing",
)


def program(seed: int) -> str:
    pick = random.Random(seed)

    def filled(text: str, depth: int = 0) -> str:
        parts = re.split(r"(@|\bM\b)", text)
        for place, part in enumerate(parts):
            if part == "@":
                parts[place] = filled(pick.choice(PIECES["expressions"]), depth + 1) if depth < 4 else "a"
            elif part == "M":
                parts[place] = filled(pick.choice(PIECES["members"]), depth + 1) + pick.choice(
                    ("", "\n", "; ", " ")
                )
        return "".join(parts)

    body = "".join(
        filled(pick.choice(PIECES["statements"])) + pick.choice(PIECES["gaps"])
        for _ in range(pick.randint(1, 4))
    )
    frame = pick.choice(
        ("@", "@", "@", "async function* g() {@\n}", "(async () => {@\n})", "function g() {@\n}")
    )
    text = frame.replace("@", body)
    place = pick.randrange(len(text) + 1)
    return text[:place] + pick.choice(PIECES["gaps"]) + text[place:] if pick.random() < 0.2 else text


def accepted(text: str, shape: Shape) -> ParsedProgram | None:
    """Return the guard's reading of a text; None if it refuses the text, or parses a wrapped one."""
    read = programs_of(text.encode(), shape, limit_bytes=128 * 1024)
    if isinstance(read, Rejection) or any(isinstance(survey(each, Limits()), Rejection) for each in read):
        return None
    return read[0] if read[0].offset == 0 else None


def units_of(text: str) -> dict[int, int]:
    """Return the offset in UTF-16 units of each character, by its offset in bytes."""
    in_bytes = accumulate((len(each.encode()) for each in text), initial=0)
    in_units = accumulate((len(each.encode("utf-16-le")) // 2 for each in text), initial=0)
    return dict(zip(in_bytes, in_units, strict=True))


def differences(texts: Iterator[str]) -> tuple[int, dict[str, list[Place]]]:
    """Return how many texts both read, and what differs in which of them."""
    rows = []
    for text in texts:
        for shape in (Shape.SCRIPT, Shape.MODULE):
            read = accepted(text, shape)
            if read is not None:
                rows.append((text, shape, read))
                break
    done = subprocess.run(
        ["node", str(HERE / "acorn_nodes.mjs"), str(PACKAGE / "package.json")],
        input="".join(
            json.dumps({"text": text, "module": shape is Shape.MODULE}) + "\n" for text, shape, _ in rows
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    differ: dict[str, list[Place]] = {}
    count = 0
    for (text, _, read), line in zip(rows, done.stdout.splitlines(), strict=True):
        nodes = json.loads(line)
        if nodes is None or MISREAD.search(text):
            continue
        count += 1
        places = acorn_places(nodes) ^ tree_places(read.tree.root_node, units_of(text))
        if places:
            differ[text] = sorted(places)[:6]
    return count, differ


@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 5))])
def test_composed_programs(block: int) -> None:
    size = 5_000
    count, differ = differences(map(program, range(block * size, (block + 1) * size)))

    assert differ == {}
    assert count > size / 10


@pytest.mark.exhaustive
def test_programs_of_the_corpus() -> None:
    cases = load_cases(sorted((ROOT / "corpus").rglob("*.yaml")))
    count, differ = differences(case.run_text for case in cases)

    assert differ == {}
    assert count > 1_000
