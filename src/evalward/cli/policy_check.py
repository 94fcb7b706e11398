"""``evalward policy check``: validate a policy file, with warnings for its owner."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evalward.policy import PolicyError, load_policy, utc_day
from evalward.policy.lint import warnings_of
from evalward.printable import printable

INVALID = 1


def policy_check(
    file: Annotated[
        Path, typer.Argument(help="A policy file (.yaml, .yml or .toml).", dir_okay=False, exists=True)
    ],
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Validate the policy FILE, and warn of valid settings that are likely mistakes.

    Every error names its key and, in YAML, its line; in TOML the line is approximate.

    Exit code: 0 valid, 1 not valid (with --strict: or with warnings), 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward policy check policy.yaml
      evalward policy check policy.yaml --strict --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        policy = load_policy(file)
    except PolicyError as refusal:
        errors, warnings, digest = refusal.issues, [], None
    else:
        errors, warnings, digest = (), warnings_of(policy, today=utc_day()), policy.digest
    if as_json:
        lists = {"errors": errors, "warnings": warnings}
        document = {name: [each.as_json() for each in issues] for name, issues in lists.items()}
        typer.echo(json.dumps({"file": str(file), "valid": not errors, "digest": digest, **document}))
    else:
        for kind, issues in (("error", errors), ("warning", warnings)):
            for each in issues:
                place = f"{file}:{each.line}" if each.line else str(file)
                typer.echo(
                    f"{kind}: {printable(place)}: {printable(str(replace(each, line=None)))}", err=True
                )
        if digest:
            typer.echo(f"valid, digest {digest}")
    if errors or (strict and warnings):
        raise typer.Exit(INVALID)
