"""Compare the guard's reading of texts with V8 in every shape, and shrink the differences."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evalward.fuzz.differential.compose import compose
from evalward.fuzz.differential.reading import read
from evalward.fuzz.differential.v8 import run_in_v8
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evalward.fuzz.differential.v8 import Runs

BATCH: Final = 500
SHRUNK: Final = 60
"""The limit of findings that are shrunk."""

_UNDECLARED: Final = (Shape.SCRIPT, Shape.EXPRESSION, Shape.ASYNC_BODY)
_DECLARED: Final = {shape: (shape,) for shape in Shape}
_TRIVIA: Final = r"(?:[\s\ufeff]|//.*|/\*[\s\S]*?\*/)*"
_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Finding:
    """``text``, declared as ``shape``, runs ``probe`` in V8 as ``ran_as``, and the guard misses it.

    ``kind`` says how: ``hidden`` (no such reference in its tree), ``call`` (a reference, but no call of it) or
    ``unclaimed`` (the guard assumes that no engine reads the text in ``ran_as``). A text that the survey denies still
    counts if the lexical fast path would have skipped the survey.
    """

    kind: str
    text: str
    shape: Shape | None
    ran_as: Shape
    probe: str


@dataclass(slots=True)
class SyntaxReport:
    """The result: all counts are of texts; ``refused`` counts them by shape and reason."""

    seed: int
    texts: int = 0
    accepted: int = 0
    running: int = 0
    accepted_by_shape: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing was hidden from the guard."""
        return not self.found

    def as_object(self, elapsed_s: float) -> dict[str, Any]:
        """Return the JSON object of ``evalward fuzz-syntax --json``."""
        return {
            "seed": self.seed,
            "texts": self.texts,
            "accepted_by_v8": self.accepted,
            "running_a_probe": self.running,
            "accepted_by_shape": dict(sorted(self.accepted_by_shape.items())),
            "refused": {f"{shape}: {why}": count for (shape, why), count in sorted(self.refused.items())},
            "found": self.found,
            "findings": [
                {
                    "kind": each.kind,
                    "code": each.text,
                    "shape": each.shape,
                    "ran_as": each.ran_as,
                    "probe": each.probe,
                }
                for each in self.findings
            ],
            "elapsed_s": round(elapsed_s, 1),
        }


def run_syntax_fuzz(
    count: int,
    seed: int,
    watch: Callable[[int], None] = lambda done: None,  # noqa: ARG005 - the default ignores progress
) -> SyntaxReport:
    """Compare ``count`` texts of ``seed``. Raises FileNotFoundError without Node."""
    report = SyntaxReport(seed)
    raw: list[Finding] = []
    for begin in range(0, count, BATCH):
        texts = [compose(seed, number) for number in range(begin, min(begin + BATCH, count))]
        for text, runs in zip(texts, run_in_v8(texts), strict=True):
            raw += _looked_at(report, text, runs)
        watch(report.texts)
    raw = [each for each in raw if is_confirmed(each)]
    report.found = len({each.text for each in raw})
    report.findings = _distinct(raw)
    return report


def differences(text: str, runs: Runs) -> list[Finding]:
    """Return the differences between the guard's reading of ``text`` and V8's, the worst first."""
    found: list[Finding] = []
    for shape, read_as in ((None, _UNDECLARED), *_DECLARED.items()):
        ran = {each: runs[each] for each in read_as if runs.get(each)}
        if ran:
            found += _compare(text, shape, ran)[1]
    return found


def _looked_at(report: SyntaxReport, text: str, runs: Runs) -> Iterator[Finding]:
    report.texts += 1
    report.accepted += bool(runs)
    report.running += any(runs.values())
    for shape, read_as in ((None, _UNDECLARED), *_DECLARED.items()):
        ran = {each: runs[each] for each in read_as if each in runs}
        if not ran:
            continue
        name = shape or "undeclared"
        report.accepted_by_shape[name] += 1
        refused, found = _compare(text, shape, ran)
        if refused is not None:
            report.refused[name, refused] += 1
        yield from found


def _compare(text: str, shape: Shape | None, ran: Runs) -> tuple[str | None, list[Finding]]:
    reading = read(text, shape)
    if reading.refused is not None and not reading.quiet:
        return reading.refused, []
    found = []
    seen = frozenset[str]().union(*reading.probes.values())
    for ran_as, probes in ran.items():
        unseen = sorted(each for each in probes - seen if not each.endswith("()") or _is_called(each, text))
        if unseen:
            kind = "call" if unseen[0].removesuffix("()") in seen else "hidden"
            found.append(Finding(kind, text, shape, ran_as, unseen[0]))
        elif probes and ran_as not in reading.probes:
            found.append(Finding("unclaimed", text, shape, ran_as, min(probes)))
    return reading.refused, found


def _is_called(call: str, text: str) -> bool:
    """Whether the text calls the probe directly, not through a variable."""
    name = re.escape(call.removesuffix("()"))
    return re.search(rf"\bnew\W*{name}\b|\b{name}{_TRIVIA}[(`]", text) is not None


def _distinct(raw: Sequence[Finding]) -> list[Finding]:
    """Shrink the first finding of each text, and keep those that are distinct afterwards."""
    firsts: dict[str, Finding] = {}
    for each in raw:
        firsts.setdefault(each.text, each)
    kept: dict[str, Finding] = {}
    for each in sorted(firsts.values(), key=lambda finding: len(finding.text))[:SHRUNK]:
        small = shrink(each)
        kept.setdefault(small.text, small)
    return list(kept.values())


def is_confirmed(finding: Finding) -> bool:
    """Run the text alone, in its one shape, to exclude pending jobs of earlier texts."""
    runs = run_in_v8([finding.text], only=finding.ran_as)[0]
    return any(
        (each.kind, each.shape, each.probe) == (finding.kind, finding.shape, finding.probe)
        for each in differences(finding.text, runs)
    )


def shrink(finding: Finding) -> Finding:
    """Return a finding of the same kind and shape with a minimal text."""
    changed = True
    while changed:
        changed = False
        words = _WORDS.findall(finding.text)
        shorter = [
            "".join(words[:place] + words[place + width :])
            for width in (8, 4, 2, 1)
            for place in range(max(0, len(words) - width + 1))
        ]
        for text, runs in zip(shorter, run_in_v8(shorter), strict=True):
            same = [
                each
                for each in differences(text, runs)
                if (each.kind, each.shape) == (finding.kind, finding.shape) and is_confirmed(each)
            ]
            if same:
                finding, changed = same[0], True
                break
    return finding
