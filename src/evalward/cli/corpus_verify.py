"""``evalward corpus verify``: check the claims of a corpus by running its payloads in the oracle.

Register as ``"verify": "evalward.cli.corpus_verify:corpus_verify"`` in ``evalward.cli.corpus``.
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
from evalward.oracle.corpus_proof import VerifyReport, verify_cases

NOT_AS_CLAIMED = 1


def corpus_verify(  # noqa: PLR0913 - one parameter per option
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files (.yaml, .jsonl) or directories.")
    ],
    *,
    deadline_ms: Annotated[int, typer.Option(min=50, max=10_000, help="Time for one run.")] = 1_000,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Cases at once; default: cores.")] = None,
    min_share: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Fail if a target's share of proven cases is lower."),
    ] = 0.0,
    every: Every = 1,
    first: First = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run every case: an escape must reach what it claims, a benign payload must reach nothing.

    The engines are QuickJS in the sandbox, Node in a child process and Chromium, where they are installed. Exit code:
    0 all as claimed, 1 a case is not or a share is too low, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward corpus verify corpus
      evalward corpus verify corpus --every 4 --from 2
      evalward corpus verify my-cases.yaml --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    begin = time.perf_counter()
    try:
        cases = load_cases(paths)[first - 1 :: every]
    except CorpusError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(USAGE) from None
    count = workers or os.cpu_count() or 1
    with progress_bar(len(cases), "running") as verified:
        report = verify_cases(cases, workers=count, deadline=deadline_ms / 1000, verified=verified)
    elapsed = time.perf_counter() - begin
    if as_json:
        typer.echo(json.dumps({**report.to_json(), "elapsed_s": round(elapsed, 3)}))
    else:
        typer.echo("\n".join(summary(report, elapsed)))
    if report.failed or any(target.share < min_share for target in report.targets):
        raise typer.Exit(NOT_AS_CLAIMED)


def summary(report: VerifyReport, elapsed_s: float) -> Iterator[str]:
    """Yield the lines of the text output; they name cases by id and repeat no payload."""
    total = sum(len(target.proofs) for target in report.targets)
    yield f"{total:,} cases run in {elapsed_s:.1f} s"
    for name, target in report.to_json()["targets"].items():
        engines = ", ".join(f"{engine} {count}" for engine, count in target["by_engine"].items()) or "none"
        yield (
            f"  {name}: {target['cases']:,} cases, {target['share']:.1%} proven: "
            f"{target['proven']:,} escapes ({engines}), {target['clean']:,} benign; "
            f"{target['failed']} failed, {target['unproven']} unproven"
        )
        for reason, count in target["unproven_because"].items():
            yield f"    {count} unproven: {reason}"
    for proof in report.failed:
        yield f"failed: {proof.case.id} ({proof.case.target}): {proof.reason}"
