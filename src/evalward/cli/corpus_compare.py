"""``evalward corpus compare``: a user's own payloads in the guards of today and in Evalward, side by side."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.corpus_run import printable_lines
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE, USAGE
from evalward.cli.progress import progress_bar
from evalward.cli.serverless import policy_in_force
from evalward.corpus.corpus_case import Case, CorpusError, load_cases
from evalward.corpus.peer import DEFAULT_SECONDS, ENDED, PACKAGES, TIMED_OUT, Peer, PeerUnavailableError
from evalward.corpus.side_by_side import Guard, Row, Score, compare, evalward_guard, scores
from evalward.errors import CodedError
from evalward.guard.target import Profile, Target
from evalward.printable import printable
from evalward.similar import did_you_mean

FIRST = "evalward"
MOST_LISTED = 20
_NAMES = (*Profile, *PACKAGES)


def corpus_compare(  # noqa: PLR0913 - one parameter per option
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files (.yaml, .jsonl) or directories.")
    ],
    *,
    guards: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="NAMES",
            help="Other guards, separated by commas: seed, strict, balanced (profiles of Evalward), js-x-ray,"
            " ast-guard (from npm).",
        ),
    ] = "seed",
    command: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COMMAND",
            help='Your own guard: it reads {"code": "..."} a line and answers {"allowed": true} or'
            ' {"allowed": false, "why": "..."} a line; repeatable.',
        ),
    ] = None,
    npm: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the packages from npm are installed.", file_okay=False)
    ] = Path(),
    seconds: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.1,
            help="The longest that another guard may take for one payload.",
        ),
    ] = DEFAULT_SECONDS,
    policy: Annotated[
        Path | None, typer.Option(help="A policy file for Evalward; without one, every target is opted in.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Also write one HTML file.", dir_okay=False)
    ] = None,
) -> None:
    """Judge every case with several guards, and print how many escapes each blocks and how much it allows.

    Cases whose expected verdict depends on the profile are left out. A guard from npm judges the text alone, since it
    knows no target, shape or sink. A guard that takes too long for a payload, or ends at it, denies it.

    Exit code: 0 compared, 2 usage or cases that cannot be read, 3 a guard or policy that is missing or invalid.

    \b
    Examples:
      evalward corpus compare my-cases --with seed,js-x-ray --npm path/to/project
      evalward corpus compare my-cases --command "mine=node guard.mjs" --html compared.html
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    names = [each for each in guards.split(",") if each]
    for name in names:
        if name not in _NAMES:
            meant = did_you_mean(name, _NAMES)
            raise typer.BadParameter(f"there is no guard {name[:80]!a}{meant}; there are {', '.join(_NAMES)}")
    try:
        cases = load_cases(paths)
        with ExitStack() as running:
            judges: dict[str, Guard] = {
                FIRST: evalward_guard(policy_in_force(policy, opt_in=Target, profile=None))
            }
            peers = [
                *(Peer.from_npm(name, npm, seconds=seconds) for name in names if name in PACKAGES),
                *(_own(each, seconds) for each in command or []),
            ]
            asked = {peer.name: _asking(running.enter_context(peer)) for peer in peers}
            for name in names:
                judges[name] = asked.get(name) or _profile(name, policy)
            judges |= asked
            with progress_bar(len(cases), "judging") as judged:
                rows = compare(cases, judges, judged=judged)
    except CorpusError as error:
        typer.echo(printable_lines(error), err=True)
        raise typer.Exit(USAGE) from None
    except (CodedError, PeerUnavailableError) as error:
        typer.echo(
            printable(f"{error.code}: {error.message}" if isinstance(error, CodedError) else str(error)),
            err=True,
        )
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    found = scores(rows, judges)
    packages = {peer.name: peer.package for peer in peers if peer.package}
    if html is not None:
        from evalward.cli.compare_page import compare_page  # noqa: PLC0415 - only needed here

        html.write_text(compare_page(rows, found), "utf-8")
    if as_json:
        typer.echo(json.dumps(_document(rows, found, len(cases), packages)))
    else:
        _print(rows, found, len(cases), packages)


def _profile(name: str, policy: Path | None) -> Guard:
    return evalward_guard(policy_in_force(policy, opt_in=Target, profile=Profile(name)))


def _own(text: str, seconds: float) -> Peer:
    name, equals, command = text.partition("=")
    if not (name.isidentifier() and equals and command.strip()) or name in (*_NAMES, FIRST):
        raise typer.BadParameter(f"{text[:80]!a} is not NAME=COMMAND with a name of its own")
    return Peer.from_command(name, command, seconds=seconds)


def _asking(peer: Peer) -> Guard:
    def judge(case: Case) -> tuple[bool, str]:
        return peer.judge(case.code)

    return judge


def _document(
    rows: Sequence[Row], found: Sequence[Score], total: int, packages: Mapping[str, str]
) -> dict[str, object]:
    return {
        "cases": total,
        "compared": len(rows),
        "guards": [each.as_object() | {"package": packages.get(each.name)} for each in found],
        "rows": [
            {
                "id": row.case.id,
                "target": str(row.case.target),
                "expect": str(row.expected),
                "answers": {
                    score.name: {"allowed": allowed, "why": why or None}
                    for score, (allowed, why) in zip(found, row.answers, strict=True)
                },
            }
            for row in rows
        ],
    }


def _print(rows: Sequence[Row], found: Sequence[Score], total: int, packages: Mapping[str, str]) -> None:
    lines = [
        ("guard", "escapes blocked", "benign allowed"),
        *((each.name, _of(each.blocked, each.escapes), _of(each.allowed, each.benign)) for each in found),
    ]
    names, blocked, allowed = (max(map(len, column)) for column in zip(*lines, strict=True))
    for line in lines:
        typer.echo(f"{line[0]:{names}}  {line[1]:>{blocked}}  {line[2]:>{allowed}}")
    if packages:
        typer.echo(printable(f"packages: {', '.join(packages.values())}"))
    for place, each in enumerate(found):
        failed = sum(row.answers[place] in {(False, TIMED_OUT), (False, ENDED)} for row in rows)
        if failed:
            typer.echo(f"blocked by {each.name} without an answer, as it timed out or ended: {failed:,}")
    left_out = total - len(rows)
    if left_out:
        typer.echo(f"left out, as the verdict depends on the profile: {left_out:,}")
    wrong = [row for row in rows if row.wrong[0]]
    for row in wrong[:MOST_LISTED]:
        done = "blocked" if row.expected.value == "allow" else "missed"
        typer.echo(printable(f"{done} by {FIRST}: {row.case.id} ({row.case.target})"))
    if len(wrong) > MOST_LISTED:
        typer.echo(f"and {len(wrong) - MOST_LISTED:,} more")


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.1f} %)" if whole else "-"
