"""``evalward policy diff``: the effect of a change of policy on a user's own cases."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE, USAGE
from evalward.cli.progress import progress_bar
from evalward.corpus.compare import Change, changes
from evalward.corpus.corpus_case import CorpusError, load_cases
from evalward.guard.constructs.labels import RULESET_NUMBER
from evalward.guard.target import Target
from evalward.policy import Policy, PolicyError, load_policy
from evalward.printable import printable

CHANGED = 1
DEFAULT_CASES = Path("corpus")


def policy_diff(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[OLD NEW] [PATH]...",
            help="The present and the next policy, then cases: files (.yaml, .jsonl) or"
            " directories. [default: corpus]",
        ),
    ] = None,
    *,
    ruleset: Annotated[
        str | None,
        typer.Option(metavar="A..B", help="Compare two rulesets in place of OLD and NEW."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="The policy under both rulesets. [default: every target opted in]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge every case under two policies or two rulesets, and print those whose answer changes.

    The ruleset after this release's is that of the next minor release.

    Exit code: 0 none, 1 some, 2 usage or cases that cannot be read, 3 infrastructure or a policy that is not valid.

    \b
    Examples:
      evalward policy diff policy.yaml next.yaml my-cases
      evalward policy diff --ruleset 1..2 --policy policy.yaml my-cases
      evalward policy diff policy.yaml next.yaml my-cases --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    given = paths or []
    try:
        if ruleset is None:
            before, after = map(load_policy, _two_policies(given, policy))
            cases = given[2:]
        else:
            own = load_policy(policy) if policy else Policy.default().allowing(Target)
            before, after = map(own.with_ruleset, _two_rulesets(ruleset))
            cases = given
        loaded = load_cases(cases or [DEFAULT_CASES])
    except CorpusError as error:
        typer.echo("\n".join(map(printable, str(error).split("\n"))), err=True)
        raise typer.Exit(USAGE) from None
    except PolicyError as refusal:
        typer.echo(f"{refusal.code}: {printable(refusal.message)}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    with progress_bar(len(loaded), "judging") as judged:
        found = [*changes(loaded, before, after, judged=judged)]
    if as_json:
        document = {
            "old": before.digest,
            "new": after.digest,
            "cases": len(loaded),
            "changed": [_entry(each) for each in found],
        }
        typer.echo(json.dumps(document))
    else:
        for each in found:
            typer.echo(printable(f"{each.case.id} ({each.case.target}): {each.old} -> {each.new}"))
        typer.echo(_summary(found, len(loaded)))
    if found:
        raise typer.Exit(CHANGED)


def _two_policies(paths: list[Path], policy: Path | None) -> list[Path]:
    if policy is not None:
        raise typer.BadParameter("--policy requires --ruleset")
    files = paths[:2]
    missing = next((file for file in files if not file.is_file()), None)
    if len(files) < len(("old", "new")) or missing is not None:
        raise typer.BadParameter(
            "two policy files are needed, the present one and the next one"
            + (f"; {printable(str(missing))} is not a file" if missing else "")
        )
    return files


def _two_rulesets(text: str) -> list[int]:
    found = re.fullmatch(r"([0-9]{1,9})\.\.([0-9]{1,9})", text)
    numbers = [int(number) for number in found.groups()] if found else []
    if not numbers or not all(1 <= number <= RULESET_NUMBER + 1 for number in numbers):
        raise typer.BadParameter(f"--ruleset takes A..B, each from 1 to {RULESET_NUMBER + 1}")
    return numbers


def _entry(change: Change) -> dict[str, object]:
    return {
        "id": change.case.id,
        "target": str(change.case.target),
        "old": change.old.as_object(),
        "new": change.new.as_object(),
    }


def _summary(found: list[Change], total: int) -> str:
    opened = sum(each.new.code is None for each in found)
    closed = sum(each.old.code is None for each in found)
    other = len(found) - opened - closed
    return (
        f"{len(found):,} of {total:,} cases change: {opened:,} now allowed, {closed:,} now denied, "
        f"{other:,} denied for another reason"
    )
