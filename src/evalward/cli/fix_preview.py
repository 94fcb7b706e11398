"""``evalward check --fix-preview``: the rewrite of a denied payload as a diff, and what runs of both show."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import unified_diff
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, Self

from rich.text import Text

from evalward.guard.repair import rewritten
from evalward.oracle import Oracles
from evalward.oracle.rewrite_runs import Comparison, Place, compare_runs
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.guard.verdict import Verdict
    from evalward.oracle.rewrite_runs import RewriteRuns

DEADLINE_SECONDS: Final = 3.0
"""Of each run; a page may load what the payload puts into it."""
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_NO_LINE_END: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Fix:
    """A denied payload, the rewrite that the guard allows, and what the runs of both show."""

    payload: bytes
    rewritten: bytes
    runs: RewriteRuns

    @property
    def is_offered(self) -> bool:
        """Whether no run shows that the rewrite does something else."""
        return self.runs.comparison is not Comparison.DIFFERENT

    def diff(self, name: str) -> Iterator[str]:
        """Yield the lines of a unified diff, without line ends; what is not UTF-8 is U+FFFD."""
        before, after = (
            [*StringIO(text.decode("utf-8", "replace"), newline="\n")]
            for text in (self.payload, self.rewritten)
        )
        for line in unified_diff(before, after, name, f"{name} (rewritten)", n=2):
            yield line.removesuffix("\n").removesuffix("\r")
            if line[0] in "+-" and not line.endswith("\n"):
                yield _NO_LINE_END

    def to_json(self, name: str) -> dict[str, Any]:
        """Return the fix as JSON data; a rewrite that is not offered has no text."""
        return {
            "comparison": str(self.runs.comparison),
            "engine": None if self.runs.engine is None else str(self.runs.engine),
            "detail": printable(self.runs.detail),
            "offered": self.is_offered,
            "payload": self.rewritten.decode("utf-8", "replace") if self.is_offered else None,
            "diff": "\n".join(self.diff(name)) if self.is_offered else None,
        }

    def lines(self, name: str) -> Iterator[Text]:
        """Yield what is printed below a verdict, without terminal control characters."""
        engine, detail = self.runs.engine, printable(self.runs.detail)
        if not self.is_offered:
            yield Text(f"fix: not offered, in {engine} the rewrite does not do the same: {detail}", "yellow")
            return
        if self.runs.comparison is Comparison.NOT_RUN:
            yield Text(f"fix: the rewrite is allowed; not run: {detail}", "yellow")
        else:
            yield Text(
                f"fix: the rewrite is allowed, and does the same in {engine} {detail}".rstrip(), "green"
            )
        for line in self.diff(name):
            yield Text(f"  {printable(line)}", _STYLES.get(line[:1], ""))


class FixPreviews:
    """Makes previews, with engines that are started when the first payload needs them."""

    def __init__(self) -> None:
        self._oracles = Oracles(deadline=DEADLINE_SECONDS)

    def of(self, payload: bytes, verdict: Verdict, bindings: Mapping[str, str]) -> Fix | None:
        """Return the fix of a denied payload, None where there is no mechanical rewrite that is allowed."""
        if verdict.target is None or not verdict.rewrites:
            return None
        other = rewritten(payload, verdict.rewrites)
        place = Place(verdict.target, verdict.shape, verdict.sink, bindings)
        return Fix(payload, other, compare_runs(self._oracles, payload, other, place))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._oracles.close()
