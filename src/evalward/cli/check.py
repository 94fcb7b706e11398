"""``evalward check``: judge one payload without a server."""

import json
import sys
import time
import uuid
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.payload import read_payload
from evalward.cli.payload_options import BindOption, CodeOption, FileArgument, SinkOption, TargetOption
from evalward.cli.serverless import (
    bindings_option,
    policy_in_force,
    profile_option,
    provenance,
    shape_option,
    sink_option,
)
from evalward.errors import Cause, Code, CodedError, Meta, canonical_json, row_of, verdict_envelope
from evalward.guard.target import Profile, Shape, Target
from evalward.judging.hardening import judge_hardened
from evalward.policy import judge_under
from evalward.policy.fields import MAX_PAYLOAD_BYTES

BLOCKED = 1


class Format(StrEnum):
    """How the verdict is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def check(  # noqa: PLR0913 - one parameter per option
    file: FileArgument = None,
    *,
    code: CodeOption = None,
    sink: SinkOption = None,
    target: TargetOption = None,
    shape: Annotated[
        Shape | None,
        typer.Option(
            parser=shape_option,
            metavar="SHAPE",
            help="The wrapper that the sink adds; default: any.",
        ),
    ] = None,
    profile: Annotated[
        Profile | None,
        typer.Option(
            parser=profile_option, metavar="PROFILE", help="How much must be proven; default: balanced."
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy file; without one, the target counts as opted in."),
    ] = None,
    bind: BindOption = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, max=MAX_PAYLOAD_BYTES, help="Another limit on the payload's size.")
    ] = None,
    output: Annotated[
        Format | None, typer.Option("--format", help="Default: text on a terminal, else json.")
    ] = None,
) -> None:
    """Judge one payload, without a server.

    Exit code: 0 allowed, 1 blocked, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward check -e "document.title" --sink playwright.evaluate
      evalward check -e "document.title" --target renderer
      evalward check payload.js --shape function --bind app=electron.app
      git show HEAD:script.js | evalward check - --format json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    payload = read_payload(file, code)
    chosen = output or (Format.TEXT if sys.stdout.isatty() else Format.JSON)
    bindings = bindings_option(bind or [])
    named = None if sink is None else sink_option(sink, target=target, shape=shape, bindings=bindings)
    realm = named.target if named else target or Target.MAIN
    try:
        effective = policy_in_force(policy, opt_in=[realm], profile=profile, max_bytes=max_bytes)
        begin = time.perf_counter()
        verdict = judge_under(
            effective,
            payload,
            target=realm,
            shape=shape,
            bindings=bindings,
            sink=named.id if named else None,
            judge_hardened=judge_hardened,
        )
    except CodedError as error:
        raise _refused(error, output) from None
    envelope = verdict_envelope(
        verdict,
        elapsed_ms=(time.perf_counter() - begin) * 1000,
        decision_id=uuid.uuid4().hex,
        provenance=provenance(effective),
        audited=False,
        allowed_targets=effective.allowed_targets,
    )
    if chosen is Format.JSON:
        sys.stdout.buffer.write(canonical_json(envelope) + b"\n")
        sys.stdout.flush()
    elif chosen is Format.SARIF:
        from evalward.cli.sarif import sarif  # noqa: PLC0415 - only needed here

        found = sarif(verdict, envelope, artifact=file or "-", version=metadata.version("evalward"))
        typer.echo(json.dumps(found, ensure_ascii=True))
    else:
        from evalward.cli.text import print_verdict  # noqa: PLC0415 - rich is only needed here

        print_verdict(payload, verdict, envelope, artifact="<code>" if file is None else file)
    if not verdict.allowed:
        raise typer.Exit(INFRASTRUCTURE_FAILURE if verdict.code is Code.INTERNAL else BLOCKED)


def _refused(error: CodedError, output: Format | None) -> Exception:
    """Return the exception to raise without rules: a usage error for the caller's faults, else exit code 3."""
    if row_of(error.code).cause is Cause.CALLER:
        return typer.BadParameter(error.message)
    typer.echo(f"{error.code}: {error.message}", err=True)
    if output is Format.JSON:
        meta = Meta(0.0, uuid.uuid4().hex, provenance(None), audited=False)
        sys.stdout.buffer.write(canonical_json(error.envelope(meta)) + b"\n")
    return typer.Exit(INFRASTRUCTURE_FAILURE)
