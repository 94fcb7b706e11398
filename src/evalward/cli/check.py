"""``evalward check``: judge payloads without a server."""

import json
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from glob import has_magic
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from evalward.cli.checked import Checked, exit_code_of, print_json_lines
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.payload import read_payload
from evalward.cli.payload_files import Payload, files_of, payloads_of
from evalward.cli.payload_options import (
    BindOption,
    CodeOption,
    FieldOption,
    FilesArgument,
    PolicyOption,
    ProfileOption,
    ShapeOption,
    SinkOption,
    TargetOption,
)
from evalward.cli.serverless import (
    bindings_option,
    policy_in_force,
    provenance,
    sink_option,
)
from evalward.errors import Cause, CodedError, Meta, canonical_json, row_of, verdict_envelope
from evalward.guard.repair import judge_repaired
from evalward.guard.target import Shape, Target
from evalward.judging.hardening import judge_hardened
from evalward.policy import Policy, judge_under
from evalward.policy.fields import MAX_PAYLOAD_BYTES

BLOCKED = 1


class Format(StrEnum):
    """How the verdict is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


def check(  # noqa: PLR0913 - one parameter per option
    files: FilesArgument = None,
    *,
    code: CodeOption = None,
    field: FieldOption = None,
    sink: SinkOption = None,
    target: TargetOption = None,
    shape: ShapeOption = None,
    profile: ProfileOption = None,
    policy: PolicyOption = None,
    bind: BindOption = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, max=MAX_PAYLOAD_BYTES, help="Another limit on the payload's size.")
    ] = None,
    output: Annotated[
        Format | None, typer.Option("--format", help="Default: text on a terminal, else json.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Judge again whenever a file changes, until interrupted.")
    ] = False,
    fix_preview: Annotated[
        bool,
        typer.Option(
            "--fix-preview",
            help="Show the rewrite of a blocked payload that says the same and is allowed, if there is one, and run"
            " both among the oracle's traps to compare what they do.",
        ),
    ] = False,
) -> None:
    """Judge payloads, without a server.

    Exit code: 0 allowed, 1 at least one blocked, 2 usage, 3 infrastructure.

    For one payload, json is its envelope. For several files, a directory, or with --field, json has one line for
    each payload, text shows only those that are blocked or have an audited finding, and sarif is one log. With
    --fix-preview json has lines, too: run only payloads with it that may run on this machine.

    \b
    Examples:
      evalward check -e "document.title" --sink playwright.evaluate
      evalward check payload.js --shape function --bind app=electron.app
      evalward check scripts "steps/**/*.js" --target renderer --watch
      evalward check calls.jsonl --field arguments.code --format sarif
      evalward check steps --target renderer --fix-preview
      git show HEAD:script.js | evalward check - --format json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    chosen = output or (Format.TEXT if sys.stdout.isatty() else Format.JSON)
    paths = files or []
    bindings = bindings_option(bind or [])
    named = None if sink is None else sink_option(sink, target=target, shape=shape, bindings=bindings)
    realm = named.target if named else target or Target.MAIN

    def round_() -> int:
        payloads = [*_payloads(paths, code, field or [])]
        try:
            effective = policy_in_force(policy, opt_in=[realm], profile=profile, max_bytes=max_bytes)
            frame = Frame(realm, shape, named.id if named else None, bindings)
            found = [_checked(each, effective, frame) for each in payloads]
        except CodedError as error:
            raise _refused(error, output) from None
        if fix_preview:
            found = _with_fixes(found, bindings)
        _print(found, chosen, single=not field and _is_single(paths, code), fixes=fix_preview)
        return exit_code_of(found, blocked=BLOCKED, failed=INFRASTRUCTURE_FAILURE)

    if fix_preview and chosen is Format.SARIF:
        raise typer.BadParameter("--fix-preview takes --format text or json")
    if watch:
        if code is not None or "-" in paths or chosen is Format.SARIF:
            raise typer.BadParameter("--watch takes files, and --format text or json")
        from evalward.cli.check_watch import watch_rounds  # noqa: PLC0415 - only needed here

        watched = [*paths, *(() if policy is None else (str(policy),))]
        raise typer.Exit(watch_rounds(round_, lambda: files_of(watched, documents=bool(field))))
    if status := round_():
        raise typer.Exit(status)


class Frame(NamedTuple):
    """Where a payload would run, and how."""

    target: Target
    shape: Shape | None
    sink: str | None
    bindings: Mapping[str, str]


def _payloads(paths: list[str], code: str | None, fields: list[str]) -> Iterator[Payload]:
    if not fields and _is_single(paths, code):
        file = paths[0] if paths else None
        yield Payload(file or "<code>", read_payload(file, code))
        return
    if code is not None or "-" in paths or not paths:
        raise typer.BadParameter("give either -e CODE, or files, or - for standard input")
    yield from payloads_of(files_of(paths, documents=bool(fields)), fields)


def _is_single(paths: list[str], code: str | None) -> bool:
    if len(paths) != 1:
        return not paths and code is not None
    return paths[0] == "-" or Path(paths[0]).is_file() or not (has_magic(paths[0]) or Path(paths[0]).is_dir())


def _checked(payload: Payload, policy: Policy, frame: Frame) -> Checked:
    begin = time.perf_counter()
    verdict = judge_under(
        policy, payload.code, **frame._asdict(), judge=judge_repaired, judge_hardened=judge_hardened
    )
    envelope = verdict_envelope(
        verdict,
        elapsed_ms=(time.perf_counter() - begin) * 1000,
        decision_id=uuid.uuid4().hex,
        provenance=provenance(policy),
        audited=False,
        allowed_targets=policy.allowed_targets,
        env_names=policy.env_names,
    )
    return Checked(payload, verdict, envelope)


def _with_fixes(found: Sequence[Checked], bindings: Mapping[str, str]) -> list[Checked]:
    from evalward.cli.fix_preview import FixPreviews  # noqa: PLC0415 - needs the oracle

    with FixPreviews() as previews:
        return [replace(each, fix=previews.of(each.payload.code, each.verdict, bindings)) for each in found]


def _print(found: Sequence[Checked], chosen: Format, *, single: bool, fixes: bool) -> None:
    if chosen is Format.SARIF:
        from importlib.metadata import version  # noqa: PLC0415 - reads the file system

        from evalward.cli.sarif import sarif  # noqa: PLC0415 - only needed here

        typer.echo(json.dumps(sarif(found, version=version("evalward")), ensure_ascii=True))
    elif chosen is Format.JSON and single and not fixes:
        sys.stdout.buffer.write(canonical_json(found[0].envelope) + b"\n")
        sys.stdout.flush()
    elif chosen is Format.JSON:
        print_json_lines(found, fixes=fixes)
    else:
        from evalward.cli.text import print_by_file, print_checked  # noqa: PLC0415 - rich is only needed here

        if single:
            print_checked(found[0])
        else:
            print_by_file(found)


def _refused(error: CodedError, output: Format | None) -> Exception:
    """Return the exception to raise without rules: a usage error for the caller's faults, else exit code 3."""
    if row_of(error.code).cause is Cause.CALLER:
        return typer.BadParameter(error.message)
    typer.echo(f"{error.code}: {error.message}", err=True)
    if output is Format.JSON:
        meta = Meta(0.0, uuid.uuid4().hex, provenance(None), audited=False)
        sys.stdout.buffer.write(canonical_json(error.envelope(meta)) + b"\n")
    return typer.Exit(INFRASTRUCTURE_FAILURE)
