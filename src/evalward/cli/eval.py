"""``evalward eval``: judge a payload, then run it in the sandbox.

Register as ``"eval": "evalward.cli.eval:eval_command"`` in ``evalward.cli.app``.
"""

import os
import sys
import time
import uuid
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.payload import read_payload
from evalward.cli.payload_options import CodeOption, FileArgument, ProfileOption, shape_with
from evalward.cli.serverless import policy_in_force, provenance
from evalward.errors import (
    REGISTRY,
    Cause,
    CodedError,
    JsonValue,
    Meta,
    canonical_json,
    row_of,
    verdict_envelope,
)
from evalward.guard.repair import judge_repaired
from evalward.guard.rules import Hardening
from evalward.guard.target import Shape, Target
from evalward.judging.hardening import judge_hardened
from evalward.policy import judge_under
from evalward.printable import printable
from evalward.sandbox import (
    RANGES,
    ArgumentError,
    Evaluation,
    EvaluationLimits,
    choose_shape,
    denial_of,
    evaluate,
    evaluation_envelope,
)

FAILED = 1

_DEFAULTS = EvaluationLimits()


def _limit(name: str, what: str) -> typer.models.OptionInfo:
    lowest, highest = RANGES[name]
    option: typer.models.OptionInfo = typer.Option(min=lowest, max=highest, help=what)
    return option


def eval_command(  # noqa: PLR0913 - one parameter per option
    file: FileArgument = None,
    *,
    code: CodeOption = None,
    arg: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="The value of arg, also passed to a function."),
    ] = None,
    shape: Annotated[Shape | None, shape_with("How the text is run; default: chosen from the text.")] = None,
    profile: ProfileOption = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy file; without one, sandbox is opted in."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1, help="Seed of Math.random.")] = 0,
    fuel: Annotated[int, _limit("fuel", "Instructions.")] = _DEFAULTS.fuel,
    deadline_ms: Annotated[int, _limit("deadline_ms", "Wall time in milliseconds.")] = _DEFAULTS.deadline_ms,
    memory_bytes: Annotated[int, _limit("memory_bytes", "Bytes of memory.")] = _DEFAULTS.memory_bytes,
    stack_bytes: Annotated[
        int, _limit("stack_bytes", "Bytes of stack, rounded down to a multiple of 65536.")
    ] = _DEFAULTS.stack_bytes,
    result_bytes: Annotated[
        int, _limit("result_bytes", "Bytes of the result as JSON.")
    ] = _DEFAULTS.result_bytes,
    console_bytes: Annotated[
        int, _limit("console_bytes", "Bytes of console text.")
    ] = _DEFAULTS.console_bytes,
    as_json: Annotated[bool, typer.Option("--json", help="Print the envelope.")] = False,
) -> None:
    """Judge one payload for the sandbox and, if it is allowed, run it there, hardened where the policy offers it.

    Without --json, the result's JSON goes to standard output, console lines and errors to standard error.
    Exit code: 0 it ran, 1 blocked or failed, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward eval -e "[1, 2, 3].map(x => x * 2)"
      evalward eval -e "(a) => a.rows.length" --arg '{"rows": []}' --json
      evalward eval script.js --shape async_body --deadline-ms 200
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    payload = read_payload(file, code)
    if shape is Shape.MODULE:
        raise typer.BadParameter("the sandbox runs no modules", param_hint="--shape")
    try:
        effective = policy_in_force(policy, opt_in=[Target.SANDBOX], profile=profile)
    except CodedError as error:
        if row_of(error.code).cause is Cause.CALLER:
            raise typer.BadParameter(error.message) from None
        typer.echo(f"{error.code}: {error.message}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    begin = time.perf_counter()
    judged_shape = shape or choose_shape(payload)
    verdict = judge_under(
        effective,
        payload,
        target=Target.SANDBOX,
        shape=judged_shape,
        judge=judge_repaired,
        judge_hardened=judge_hardened,
        harden=Hardening.OFFERED,
    )
    decision_id = uuid.uuid4().hex
    if not verdict.allowed:
        envelope = verdict_envelope(
            verdict,
            elapsed_ms=(time.perf_counter() - begin) * 1000,
            decision_id=decision_id,
            provenance=provenance(effective),
            audited=False,
            allowed_targets=effective.allowed_targets,
            env_names=effective.env_names,
        )
        _print(envelope, as_json=as_json)
        raise typer.Exit(FAILED)
    limits = EvaluationLimits(
        fuel=fuel,
        deadline_ms=deadline_ms,
        memory_bytes=memory_bytes,
        stack_bytes=stack_bytes,
        result_bytes=result_bytes,
        console_bytes=console_bytes,
    )
    argument = None if arg is None else os.fsencode(arg)
    try:
        program = payload if verdict.hardened is None else verdict.hardened.text
        evaluation = evaluate(program, arg=argument, shape=judged_shape, limits=limits, seed=seed)
    except ArgumentError as error:
        raise typer.BadParameter(str(error), param_hint="--arg") from None
    if verdict.hardened is not None:
        evaluation = denial_of(evaluation)
    elapsed = (time.perf_counter() - begin) * 1000
    meta = Meta(elapsed, decision_id, provenance(effective), audited=False)
    _print(evaluation_envelope(evaluation, verdict, meta=meta), as_json=as_json, evaluation=evaluation)
    if evaluation.code is not None:
        retryable = REGISTRY[evaluation.code].grpc_status is not None
        raise typer.Exit(INFRASTRUCTURE_FAILURE if retryable else FAILED)


def _print(envelope: dict[str, JsonValue], *, as_json: bool, evaluation: Evaluation | None = None) -> None:
    if as_json:
        sys.stdout.buffer.write(canonical_json(envelope) + b"\n")
        sys.stdout.flush()
        return
    for line in evaluation.console if evaluation else ():
        typer.echo(f"{line.level}: {printable(line.text)}", err=True)
    if not envelope["ok"]:
        typer.echo(f"{printable(str(envelope['error']))}\nhint: {envelope['hint']}", err=True)
    elif evaluation is not None:
        typer.echo(evaluation.result if evaluation.result is not None else "undefined")
