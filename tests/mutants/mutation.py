"""Rewrite escapes with public tools and print the guard's verdicts on the results (guard.md §5, mutators).

``python tests/mutants/mutation.py`` prints the figures; the test beside it holds them to their claim. A mutant
counts only if an engine shows it to reach what its escape reaches: tools also break programs.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalward.codes import Code
from evalward.corpus.corpus_case import Case, load_cases
from evalward.guard import judge
from evalward.guard.target import Profile, Shape, Target
from evalward.oracle.corpus_proof import verify_cases
from evalward.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE: Final = Path(__file__).parent
CORPUS: Final = HERE.parents[1] / "corpus"
MUTATORS: Final = HERE / "mutators"
TOOLS: Final = tuple(json.loads((MUTATORS / "configurations.json").read_text(encoding="utf-8")))
MINIFIERS: Final = ("terser", "esbuild", "@swc/core", "uglify-js")
PROFILES: Final = (Profile.BALANCED, Profile.STRICT)
CATCHES: Final = frozenset({Code.EVAL_BLOCKED_CONSTRUCT, Code.EVAL_BLOCKED_KEYWORD})

# JSFuck writes a letter in up to hundreds of characters: of a long payload it makes one that no limit admits.
_LONGEST: Final = {"jscrewit": 90}
_TOOL_DEADLINE_S: Final = 300


@dataclass(frozen=True, slots=True)
class Mutant:
    """What a tool in one configuration made of a case; ``case.code`` is the rewritten text."""

    tool: str
    configuration: str
    case: Case

    @property
    def name(self) -> str:
        """Tool, configuration and the id of the case, as in ``open.txt``."""
        return f"{self.tool} {self.configuration} {self.case.id}"


@dataclass(frozen=True, slots=True)
class Answers:
    """The mutants of one tool by what became of them; those in ``live`` are proven by an engine.

    ``refused`` could not be read by the tool, ``broken`` reach nothing any more, ``unproven`` need an engine that
    is not here. Of the live ones, by profile: ``caught``, ``limited`` (a denial for size, depth or budget, or of
    syntax, is no catch), ``missed``.
    """

    tool: str
    refused: int
    broken: tuple[Mutant, ...]
    unproven: tuple[Mutant, ...]
    live: tuple[Mutant, ...]
    caught: dict[Profile, tuple[Mutant, ...]]
    limited: dict[Profile, tuple[Mutant, ...]]
    missed: dict[Profile, tuple[Mutant, ...]]

    def open(self) -> list[str]:
        """Return what is no catch as lines ``KIND PROFILE TOOL CONFIGURATION ID``, the form of ``open.txt``."""
        return [
            f"{kind} {profile} {mutant.name}"
            for kind, by_profile in (("missed", self.missed), ("limited", self.limited))
            for profile, found in by_profile.items()
            for mutant in found
        ]


def missing() -> str | None:
    """Return why the tools cannot run here, or None."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (MUTATORS / "node_modules").is_dir():
        return "npm ci was not run in tests/mutants/mutators"
    return None


@cache
def escapes() -> tuple[Case, ...]:
    """Return the cases that ``escapes.txt`` names; raise KeyError for an id that the corpus lacks."""
    by_id = {case.id: case for case in load_cases([CORPUS])}
    lines = (HERE / "escapes.txt").read_text(encoding="utf-8").splitlines()
    return tuple(by_id[line] for line in lines if line and not line.startswith("#"))


@cache
def twins() -> tuple[Case, ...]:
    """Return the benign twins of the escapes, those that are scripts."""
    wanted = {case.twin for case in escapes()}
    # A tool that is given `n => n` as a script throws it away: it does nothing there.
    scripts = (case for case in load_cases([CORPUS / "benign"]) if case.shape in {None, Shape.SCRIPT})
    return tuple(case for case in scripts if case.id in wanted)


def mutate(tool: str, cases: Iterable[Case]) -> tuple[list[Mutant], int]:
    """Return the mutants of ``cases`` in every configuration, and how often the tool refused the text."""
    longest = _LONGEST.get(tool)
    by_id = {case.id: case for case in cases if longest is None or len(case.code) <= longest}
    done = subprocess.run(
        ["node", "mutate.mjs", tool],
        cwd=MUTATORS,
        input=json.dumps([{"id": case.id, "code": case.code} for case in by_id.values()]),
        capture_output=True,
        text=True,
        check=True,
        timeout=_TOOL_DEADLINE_S,
    )
    answers = json.loads(done.stdout)
    mutants = [
        Mutant(tool, each["configuration"], by_id[each["id"]].model_copy(update={"code": each["code"]}))
        for each in answers
        if "code" in each
    ]
    return mutants, len(answers) - len(mutants)


def answers_to(tool: str) -> Answers:
    """Mutate every escape with ``tool``, run what comes out in the engines, and judge what is live."""
    mutants, refused = mutate(tool, escapes())
    proofs = verify_cases([_named(mutant) for mutant in mutants], workers=2, deadline=2.0)
    status = {proof.case.id: proof.status for target in proofs.targets for proof in target.proofs}
    by_status = {
        wanted: tuple(mutant for mutant in mutants if status[mutant.name] == wanted)
        for wanted in ("proven", "failed", "unproven")
    }
    live = by_status["proven"]
    verdicts = {profile: [(mutant, code_of(mutant, profile)) for mutant in live] for profile in PROFILES}
    return Answers(
        tool,
        refused,
        by_status["failed"],
        by_status["unproven"],
        live,
        caught={p: tuple(m for m, code in verdicts[p] if code in CATCHES) for p in PROFILES},
        limited={p: tuple(m for m, code in verdicts[p] if code and code not in CATCHES) for p in PROFILES},
        missed={p: tuple(m for m, code in verdicts[p] if code is None) for p in PROFILES},
    )


def code_of(mutant: Mutant, profile: Profile) -> Code | None:
    """Return the code with which the guard denies ``mutant``, or None when it allows it."""
    case = mutant.case
    rules = _policy(profile).rules_for(case.target, bindings=case.bindings)
    return judge(case.payload, target=case.target, shape=case.shape, rules=rules).code


def _named(mutant: Mutant) -> Case:
    return mutant.case.model_copy(update={"id": mutant.name})


@cache
def _policy(profile: Profile) -> Policy:
    return Policy.default().allowing(Target).with_profile(profile)


def report(tool: str) -> Iterator[str]:
    """Yield table rows, one a configuration, then what was missed or limited, in the form of ``open.txt``."""
    answers = answers_to(tool)
    rewritten, _ = mutate(tool, twins())
    benign = Counter(twin.configuration for twin in rewritten)
    blocked = Counter(twin.configuration for twin in rewritten if code_of(twin, Profile.BALANCED))
    for configuration, live in Counter(mutant.configuration for mutant in answers.live).items():
        found = (*answers.missed.values(), *answers.limited.values())
        counts = [sum(mutant.configuration == configuration for mutant in each) for each in found]
        cells = " | ".join(map(str, [tool, configuration, live, *counts]))
        yield f"| {cells} | {blocked[configuration]} of {benign[configuration]} |"
    yield f"<!-- {tool}: {answers.refused} refused, {len(answers.broken)} broken, {len(answers.unproven)} unproven"
    yield from answers.open()
    yield "-->"


if __name__ == "__main__":
    print(
        "| tool | configuration | live | missed, balanced | strict | limited, balanced | strict | twins blocked |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for each in TOOLS:
        print("\n".join(report(each)), flush=True)
