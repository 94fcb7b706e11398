"""``evalward fuzz-syntax``: find text that V8 parses differently from the guard, so that code is hidden."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.fuzz.differential.differences import SyntaxReport, run_syntax_fuzz
from evalward.fuzz.differential.v8 import missing

HIDDEN = 1


def fuzz_syntax(
    *,
    count: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many texts.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same texts.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compose texts around ambiguities of JavaScript's grammar, and compare the guard with V8.

    Each text calls probes. V8 runs it in every shape, as a sink would. A probe that runs although the guard neither
    denies the text nor has that call in its tree is a finding, and is shrunk. Needs Node. Exit code: 0 no finding, 1
    findings, 2 usage, 3 no Node.

    \b
    Examples:
      evalward fuzz-syntax --count 100000 --seed 7
      evalward fuzz-syntax --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if (why := missing()) is not None:
        typer.echo(f"evalward fuzz-syntax: {why}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE)
    begin = time.perf_counter()
    if sys.stderr.isatty():
        with typer.progressbar(length=count, file=sys.stderr) as bar:
            report = run_syntax_fuzz(count, seed, lambda done: bar.update(done - bar.pos))
    else:
        report = run_syntax_fuzz(count, seed)
    elapsed = time.perf_counter() - begin
    typer.echo(json.dumps(report.as_object(elapsed)) if as_json else "\n".join(summary(report, elapsed)))
    if not report.ok:
        raise typer.Exit(HIDDEN)


def summary(report: SyntaxReport, elapsed_s: float) -> Iterator[str]:
    """Yield the lines of the text output."""
    yield (
        f"{report.texts:,} texts, seed {report.seed}, in {elapsed_s:.1f} s: V8 accepts {report.accepted:,} in some "
        f"shape and runs a probe of {report.running:,}; {report.found:,} hide one from the guard"
    )
    for shape, accepted in sorted(report.accepted_by_shape.items()):
        reasons = {why: count for (name, why), count in report.refused.items() if name == shape}
        said = ", ".join(f"{why} {count:,}" for why, count in sorted(reasons.items())) or "none"
        yield f"  {shape}: {accepted:,} accepted by V8; of these the guard refuses {sum(reasons.values()):,} ({said})"
    for each in report.findings:
        yield f"{each.kind} {each.shape or 'undeclared'} (run as {each.ran_as}) {each.probe}: {each.text!r}"
