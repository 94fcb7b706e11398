"""``evalward policy diff``: what a change of policy would do to a user's own cases."""

import json
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.excerpt import printable
from evalward.cli.progress import progress_bar
from evalward.corpus.case import CorpusError, load_cases
from evalward.corpus.compare import Change, changes
from evalward.policy import PolicyError, load_policy

CHANGED = 1
USAGE = 2
INFRASTRUCTURE_FAILURE = 3
DEFAULT_CASES = Path("corpus")


def policy_diff(
    old: Annotated[Path, typer.Argument(help="The policy file that holds now.", dir_okay=False, exists=True)],
    new: Annotated[Path, typer.Argument(help="The one that shall hold.", dir_okay=False, exists=True)],
    cases: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Files (.yaml, .jsonl) or directories. [default: corpus]"),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge every case under both policies, and print those whose answer changes.

    Exit code: 0 none, 1 some, 2 usage or cases that cannot be read, 3 infrastructure or a policy that is not valid.

    \b
    Examples:
      evalward policy diff policy.yaml next.yaml my-cases
      evalward policy diff policy.yaml next.yaml my-cases --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        before, after = load_policy(old), load_policy(new)
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
