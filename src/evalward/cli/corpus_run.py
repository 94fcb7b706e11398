"""``evalward corpus run``: the regression test of Evalward, and of a user's own cases."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE, USAGE
from evalward.cli.progress import progress_bar
from evalward.cli.serverless import policy_in_force, profile_option
from evalward.corpus.corpus_case import Case, CorpusError, load_cases
from evalward.corpus.regression import Outcome, Report, run_cases
from evalward.errors import CodedError
from evalward.guard.rules import Rules
from evalward.guard.target import Profile, Target
from evalward.printable import printable

NOT_AS_EXPECTED = 1


def run(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files (.yaml, .jsonl) or directories.")
    ],
    *,
    profile: Annotated[
        Profile | None,
        typer.Option(
            parser=profile_option,
            metavar="PROFILE",
            help="Judge under this profile; default: the policy's, else balanced.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy file; without one, every target is opted in."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a summary.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Also write the result as JUnit XML.", dir_okay=False)
    ] = None,
) -> None:
    """Judge every case and compare with what it expects, in one process.

    Exit code: 0 all as expected, 1 an escape missed or blocked for another construct than its case names, or
    a benign payload blocked, 2 usage or a corpus that cannot be read, 3 infrastructure.

    \b
    Examples:
      evalward corpus run corpus
      evalward corpus run corpus/benign --profile strict --json
      evalward corpus run my-cases.yaml --policy policy.yaml --junit result.xml
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    begin = time.perf_counter()
    try:
        effective = policy_in_force(policy, opt_in=Target, profile=profile)
        cases = load_cases(paths)
    except CorpusError as error:
        typer.echo(printable_lines(error), err=True)
        raise typer.Exit(USAGE) from None
    except CodedError as error:
        typer.echo(f"{error.code}: {error.message}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None

    def rules_for(case: Case) -> Rules:
        return effective.rules_for(case.target, bindings=case.bindings)

    with progress_bar(len(cases), "judging") as judged:
        report = run_cases(cases, profile=effective.profile, rules_for=rules_for, judged=judged)
    elapsed = time.perf_counter() - begin
    denied = Counter(case.target for case in cases if not effective.for_target(case.target).allowed)
    for target, count in sorted(denied.items()):
        typer.echo(_not_opted_in(target, count, policy), err=True)
    if junit is not None:
        from evalward.corpus.junit import junit_xml  # noqa: PLC0415 - only needed here

        junit.write_bytes(junit_xml(report, elapsed))
    if as_json:
        typer.echo(json.dumps({**report.as_object(elapsed), "not_opted_in": dict(sorted(denied.items()))}))
    else:
        typer.echo("\n".join(summary(report, elapsed)))
    if not report.ok:
        raise typer.Exit(NOT_AS_EXPECTED)


def _not_opted_in(target: Target, count: int, policy: Path | None) -> str:
    cases = "1 case is" if count == 1 else f"{count:,} cases are"
    return (
        f"{cases} denied unjudged: {printable(str(policy))} does not opt in the target {target};"
        f" targets: {{{target}: {{allowed: true}}}} in it does"
    )


def summary(report: Report, elapsed_s: float) -> Iterator[str]:
    """Yield the lines of the text output; they name cases by id and repeat no payload."""
    total = report.escapes + report.benign
    cases = "case" if total == 1 else "cases"
    yield f"{total:,} {cases} under profile {report.profile} in {elapsed_s:.2f} s"
    yield (
        f"  escapes {report.escapes:,}: {len(report.caught):,} blocked, {len(report.limited):,} limited, "
        f"{len(report.missed):,} missed, {len(report.wrong_construct):,} blocked for the wrong construct"
    )
    yield (
        f"  benign  {report.benign:,}: {len(report.allowed):,} allowed, "
        f"{len(report.wrongly_blocked):,} wrongly blocked"
    )
    for title, outcomes in (
        ("missed", report.missed),
        ("wrong construct", report.wrong_construct),
        ("wrongly blocked", report.wrongly_blocked),
        ("limited", report.limited),
    ):
        for outcome in outcomes:
            yield f"{title}: {outcome.case.id}{_answer(outcome)}"


def printable_lines(error: CorpusError) -> str:
    """Return the message of ``error`` with terminal control characters escaped."""
    return "\n".join(map(printable, str(error).split("\n")))


def _answer(outcome: Outcome) -> str:
    verdict, case = outcome.verdict, outcome.case
    if verdict.allowed:
        return f" ({case.target})"
    said = " ".join(filter(None, (verdict.code, verdict.construct or verdict.keyword)))
    wanted = f", expected {' or '.join(case.constructs)}" if case.constructs else ""
    return f" ({case.target}): {printable(said)}{wanted}"
