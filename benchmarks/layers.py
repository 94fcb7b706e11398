"""Compare the two layers: what the guard stops that hardened output does not, and the other way round.

Each program runs as it is first. Of those that reach something, the guard judges the text under ``balanced`` and
``strict``, and the hardened program runs where the text reached it. Each program is in one column: denied by both
layers, by one of them, or by none. Sets of programs are corpora (``.yaml``, ``.jsonl``, directories of them), files
of ``{id, target, shape, code}`` a line, plain or gzipped, and programs of the generator.

    python benchmarks/layers.py corpus --every 4                own corpus, each fourth case
    python benchmarks/layers.py corpus --generated 1000         and 1,000 generated programs
    python benchmarks/layers.py FILE.jsonl.gz --json            another set
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evalward.corpus.corpus_case import Case, CorpusError, Expectation, load_cases
from evalward.fuzz.plan import Plans
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET
from evalward.guard.target import Profile
from evalward.oracle.corpus_harden import INERT, harden_cases
from evalward.oracle.emission import emit
from evalward.oracle.hardened_run import Outcome
from evalward.policy import Policy, judge_under

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROFILES: Final = (Profile.BALANCED, Profile.STRICT)
BOTH, GUARD, HARDENED, NONE = "both", "only the guard", "only hardened output", "neither"
COLUMNS: Final = (BOTH, GUARD, HARDENED, NONE)
_FIELDS: Final = ("id", "target", "shape", "code")


@dataclass(frozen=True, slots=True)
class Stopped:
    """What stopped one program that reaches something as it is; ``by`` has a column for each profile."""

    id: str
    by: dict[Profile, str]


def main() -> int:
    """Parse the command line, run, print; return 1 when a program passes both layers under ``balanced``."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="corpora or JSON Lines")
    options.add_argument("--generated", type=int, default=0, metavar="N", help="programs of the generator")
    options.add_argument("--seed", type=int, default=1, help="of the generator (default: 1)")
    options.add_argument("--every", type=int, default=1, metavar="N", help="take each N-th program of a PATH")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="default: cores")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    chosen = options.parse_args()
    try:
        sets = {str(path): escapes(path)[:: chosen.every] for path in chosen.paths}
    except (OSError, CorpusError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if chosen.generated:
        sets["generated"] = generated(chosen.generated, chosen.seed)
    found = {name: stopped(cases, chosen.workers) for name, cases in sets.items()}
    print(json.dumps(as_object(found), indent=2) if chosen.json else "\n".join(table(found)))
    return int(any(each.by[Profile.BALANCED] == NONE for rows in found.values() for each in rows))


def escapes(path: Path) -> list[Case]:
    """Return the programs of a corpus that ``balanced`` blocks, or each program of a file without expectations."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        read = gzip.open if path.suffix == ".gz" else open
        with read(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        if not any("expect" in row for row in rows):
            return [
                Case(**{name: row.get(name) for name in _FIELDS}, expect=Expectation.BLOCK) for row in rows
            ]
    return [case for case in load_cases([path]) if case.expected(Profile.BALANCED) is Expectation.BLOCK]


def generated(count: int, seed: int) -> list[Case]:
    """Return the first ``count`` programs of the generator."""
    programs = [compose(plan, telltale=True) for plan in Plans(seed).first(count)]
    return [
        Case(id=f"{index}", code=each.text, target=TARGET, shape=each.shape, expect=Expectation.BLOCK)
        for index, each in enumerate(programs)
    ]


def stopped(cases: Sequence[Case], workers: int) -> list[Stopped]:
    """Return, for each program that reaches something as it is, the layers that stop it."""
    ran = harden_cases(cases, emit, workers=workers).tried
    return [
        Stopped(
            each.case.id,
            {
                profile: column(is_denied(each.case, profile), each.status != Outcome.REACHED)
                for profile in PROFILES
            },
        )
        for each in ran
        if each.status != INERT
    ]


def is_denied(case: Case, profile: Profile) -> bool:
    """Whether the guard alone denies the case."""
    policy = Policy.default().allowing([case.target]).with_profile(profile)
    verdict = judge_under(
        policy,
        case.payload,
        target=case.target,
        shape=case.shape,
        bindings=case.bindings,
        sink=case.sink,
    )
    return verdict.code is not None


def column(by_guard: bool, by_hardened: bool) -> str:  # noqa: FBT001 - the two layers
    """Return the column of a program."""
    return {(True, True): BOTH, (True, False): GUARD, (False, True): HARDENED, (False, False): NONE}[
        by_guard, by_hardened
    ]


def as_object(found: dict[str, list[Stopped]]) -> dict[str, Any]:
    """Return the counts of each set and profile, and the programs that one layer alone stops, or none."""
    return {
        name: {
            "live": len(rows),
            **{
                profile.value: {
                    **{each: counted(rows, profile)[each] for each in COLUMNS},
                    "ids": {
                        each: [row.id for row in rows if row.by[profile] == each]
                        for each in (GUARD, HARDENED, NONE)
                    },
                }
                for profile in PROFILES
            },
        }
        for name, rows in found.items()
    }


def counted(rows: Iterable[Stopped], profile: Profile) -> Counter[str]:
    """Count the programs in each column."""
    return Counter(row.by[profile] for row in rows)


def table(found: dict[str, list[Stopped]]) -> list[str]:
    """Return a Markdown table with a row for each set and profile."""
    lines = [
        "| set | profile | reach something | " + " | ".join(COLUMNS) + " |",
        "|---|---|---" + "|---" * len(COLUMNS) + "|",
    ]
    for name, rows in found.items():
        for profile in PROFILES:
            counts = counted(rows, profile)
            cells = " | ".join(f"{counts[each]:,}" for each in COLUMNS)
            lines.append(f"| {name} | {profile} | {len(rows):,} | {cells} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
