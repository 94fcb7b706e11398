"""``evalward corpus harden``: run a corpus hardened in the oracle, and compare it with the payloads as they are.

Register as ``"harden": "evalward.cli.corpus_harden:corpus_harden"`` in ``evalward.cli.corpus``.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.corpus_part import Every, First
from evalward.cli.exit_codes import USAGE
from evalward.cli.progress import progress_bar
from evalward.corpus.corpus_case import CorpusError, load_cases
from evalward.oracle.corpus_harden import HardenReport, harden_cases
from evalward.oracle.emission import emit

REACHED = 1


def corpus_harden(  # noqa: PLR0913 - one parameter per option
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files (.yaml, .jsonl) or directories.")
    ],
    *,
    deadline_ms: Annotated[int, typer.Option(min=50, max=10_000, help="Time for one run.")] = 1_000,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Cases at once; default: cores.")] = None,
    every: Every = 1,
    first: First = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run every case hardened, without the static verdict: an escape must reach nothing, a benign payload do the same.

    The engines are QuickJS in the sandbox, Node in a child process and Chromium, where they are installed. A benign
    payload and its hardened program run with the same stubs, clock and random numbers; ending, error, completion
    value and side effects are compared. Exit code: 0 nothing reached, 1 something reached, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward corpus harden corpus
      evalward corpus harden corpus --every 10
      evalward corpus harden my-cases.yaml --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    begin = time.perf_counter()
    try:
        cases = load_cases(paths)[first - 1 :: every]
    except CorpusError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(USAGE) from None
    count = workers or os.cpu_count() or 1
    with progress_bar(len(cases), "running") as tried:
        report = harden_cases(cases, emit, workers=count, deadline=deadline_ms / 1000, tried=tried)
    elapsed = time.perf_counter() - begin
    if as_json:
        typer.echo(json.dumps({**report.to_json(), "elapsed_s": round(elapsed, 3)}))
    else:
        typer.echo("\n".join(summary(report, elapsed)))
    if report.reached:
        raise typer.Exit(REACHED)


def summary(report: HardenReport, elapsed_s: float) -> Iterator[str]:
    """Yield the lines of the text output; they name cases by id and repeat no payload."""
    found = report.to_json()
    escapes, benign = found["escapes"], found["benign"]
    yield f"{len(report.tried):,} cases run hardened in {elapsed_s:.1f} s"
    yield (
        f"  escapes: {escapes['total']:,}, of which {escapes['refused']:,} refused, {escapes['denied']:,} denied, "
        f"{escapes['ended']:,} ended without a denial, {len(escapes['reached']):,} reached, "
        f"{escapes['inert']:,} reach nothing as they are"
    )
    yield (
        f"  benign: {benign['total']:,}, of which {benign['same']:,} the same, {len(benign['denied']):,} denied, "
        f"{len(benign['different']):,} different, {len(benign['unstable']):,} differ from themselves"
    )
    for each in report.reached:
        yield f"reached: {each.case.id} ({each.where}): {each.detail}"
    for about in ("different", "denied", "unstable"):
        for case in benign[about]:
            yield f"{about}: {case['id']} ({case['where']}): {case['detail']}"
    for name in found["malformed"]:
        yield f"not parsed by an engine: {name}"
