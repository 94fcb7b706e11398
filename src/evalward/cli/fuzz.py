"""``evalward fuzz``: generate programs that reach a capability, and find those that the guard allows."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from evalward.cli.exit_codes import USAGE
from evalward.corpus.corpus_case import CorpusError
from evalward.fuzz.axes import AXES
from evalward.fuzz.campaign import Job, Watch, run_fuzz
from evalward.fuzz.campaign_report import FuzzReport
from evalward.fuzz.cases import append_cases
from evalward.fuzz.prove import Prover
from evalward.fuzz.verdict_batches import Guard
from evalward.guard.target import Profile

MISSED = 1
LINE_EVERY_S = 60.0


def fuzz(  # noqa: PLR0913 - one parameter an option
    *,
    count: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many programs.")] = 5_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same programs.")] = 1,
    profile: Annotated[Profile, typer.Option(help="The profile to judge under.")] = Profile.BALANCED,
    benign: Annotated[
        int | None, typer.Option(min=0, help="How many benign twins; default: a fifth of the count.")
    ] = None,
    sample: Annotated[int, typer.Option(min=0, help="How many of each kind the oracle runs.")] = 500,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Processes; default: cores.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Append the shrunk misses to this corpus file (.yaml).", dir_okay=False),
    ] = None,
    hardened: Annotated[
        bool,
        typer.Option(
            "--hardened", help="Ignore the verdict: run each program hardened, which must reach nothing."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, reach per axis value included.")
    ] = False,
) -> None:
    """Compose programs from gadgets, paths to capabilities, carriers, uses and settings, and judge each.

    The first programs cover every pair of axis values, then they are random. The oracle runs the programs that the
    guard allows: one that reaches its capability is a miss, and is shrunk. A long run can go into the background:
    memory does not grow with the count, and standard error gets a line a minute. With --hardened every program runs
    hardened in the oracle instead, whatever the guard says of it. Exit code: 0 no miss, 1 a miss, an exception of the
    guard, or a hardened program that reached something, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward fuzz --count 100000 --profile strict
      evalward fuzz --count 5000 --seed 7 --json --out corpus/escapes/fuzz.yaml
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if out is not None and out.suffix not in {".yaml", ".yml"}:
        raise typer.BadParameter("must be a .yaml file", param_hint="--out")
    begin = time.perf_counter()
    cores = workers or os.cpu_count() or 1
    job = Job(count, seed, profile, count // 5 if benign is None else benign, sample, cores)
    if hardened:
        _run_hardened(job, begin, as_json=as_json)
        return
    with Prover(workers=cores) as prover:
        report = run_fuzz(job, Guard(profile), prover, _watch())
    elapsed = time.perf_counter() - begin
    if out is not None:
        try:
            append_cases(out, report.classes)
        except CorpusError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(USAGE) from None
    typer.echo(json.dumps(report.as_object(elapsed)) if as_json else "\n".join(summary(report, elapsed)))
    if not report.ok:
        raise typer.Exit(MISSED)


def _run_hardened(job: Job, begin: float, *, as_json: bool) -> None:
    from evalward.fuzz.hardened import run_hardened  # noqa: PLC0415 - only this option loads the emitter
    from evalward.oracle.emission import emit  # noqa: PLC0415 - the same

    with Prover(workers=job.workers) as prover:
        report = run_hardened(job, emit, prover, _watch())
    found = report.as_object(time.perf_counter() - begin)
    typer.echo(json.dumps(found) if as_json else "\n".join(_hardened_summary(found)))
    if report.reached:
        raise typer.Exit(MISSED)


def _hardened_summary(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['total']:,} programs run hardened, seed {found['seed']}, in {found['elapsed_s']:.1f} s"
    yield (
        f"  {found['denied']:,} denied, {found['ended']:,} ended without a denial, {found['refused']:,} refused, "
        f"{len(found['reached']):,} reached something"
    )
    yield f"  sample: {found['sample']['live']:,} of {found['sample']['size']:,} reach their capability as they are"
    for reason, count in found["refused_for"].items():
        yield f"refused: {count:,} x {reason}"
    for each in found["reached"]:
        yield f"reached: {each['reached']}: {each['code']}"


def summary(report: FuzzReport, elapsed_s: float) -> Iterator[str]:
    """Yield the lines of the text output."""
    yield f"{report.total:,} programs under profile {report.profile}, seed {report.seed}, in {elapsed_s:.1f} s"
    yield (
        f"  {report.blocked:,} blocked, {report.limited:,} limited, {report.missed:,} missed, "
        f"{report.inert:,} allowed and inert, {report.failed:,} made the guard fail"
    )
    yield (
        f"  pairs of axis values: {report.pairs_covered:,} of {report.pairs_total:,} "
        f"(all within {report.covering:,} programs; {report.pairs_impossible:,} cannot occur)"
    )
    yield f"  sample: {report.sample_live:,} of {report.sampled:,} reach their capability in an engine"
    yield (
        f"  benign twins: {report.benign_blocked:,} of {report.benign_total:,} blocked; "
        f"{report.benign_reaching:,} of {report.benign_sampled:,} sampled reach anything"
    )
    for axis in AXES:
        values = report.by_value[axis]
        fewest = min((counts["generated"] for counts in values.values()), default=0)
        proven = sum(counts["live"] > 0 for counts in values.values())
        yield f"  {axis}: {len(values)} values, each in {fewest:,} or more programs, {proven} proven to reach"
    for value, misses in report.families():
        yield f"missed: {value}: {misses:,}"
    for each in report.classes:
        yield f"  {each.count:,} x {each.as_object()['about']}: {each.as_object()['code']}"
    for failure in report.failures:
        yield f"failed: {failure['raised']}: {failure['code']}"


def _watch() -> Watch:
    """Show each step on standard error: as a bar on a terminal, otherwise as a line per minute."""
    if not sys.stderr.isatty():
        return _watch_in_lines(time.monotonic)
    from rich.console import Console  # noqa: PLC0415 - only a terminal pays for it
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    tasks = {}

    def watch(doing: str, done: int, total: int) -> None:
        if doing not in tasks:
            tasks[doing] = bar.add_task(doing, total=total)
            bar.start()
        bar.update(tasks[doing], completed=done)
        if bar.finished:
            bar.stop()

    return watch


def _watch_in_lines(clock: Callable[[], float]) -> Watch:
    """Print a line a minute, which a short run never reaches; ``clock`` gives seconds."""
    begin = last = clock()

    def watch(doing: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last >= LINE_EVERY_S:
            last = now
            typer.echo(f"{now - begin:,.0f} s: {doing}, {done:,} of {total:,}", err=True)

    return watch
