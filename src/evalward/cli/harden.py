"""``evalward harden``: print the program to run instead of a payload, without a server."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.payload import read_payload
from evalward.cli.payload_options import (
    BindOption,
    CodeOption,
    FileArgument,
    SinkOption,
    TargetOption,
    shape_with,
)
from evalward.cli.serverless import (
    bindings_option,
    policy_in_force,
    sink_option,
)
from evalward.codes import Code
from evalward.errors import Cause, CodedError, row_of
from evalward.guard.harden import NotHardenable, harden_payload
from evalward.guard.syntax.locate import locate
from evalward.guard.target import Shape, Target
from evalward.judging.hardening import new_prefix
from evalward.judging.preparing import KEY, for_key
from evalward.printable import printable

NOT_HARDENABLE = 1
_READABLE = ("h_", *(f"h{number}_" for number in range(10)))


def harden(  # noqa: PLR0913 - one parameter per option
    file: FileArgument = None,
    *,
    code: CodeOption = None,
    sink: SinkOption = None,
    target: TargetOption = None,
    shape: Annotated[
        Shape | None, shape_with("The wrapper that the sink adds; needed without --sink.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="A policy file, for the names that it binds."),
    ] = None,
    bind: BindOption = None,
    prepared: Annotated[
        str | None,
        typer.Option(
            metavar="KEY|FILE",
            help="The key of the page that runs the program, or a file with it (prepare_runtime): a short head then "
            "takes the place of the run-time.",
        ),
    ] = None,
    no_prelude: Annotated[
        bool, typer.Option("--no-prelude", help="Leave out the run-time: for people, it does not run.")
    ] = False,
    readable: Annotated[
        bool,
        typer.Option("--readable", help="Short names instead of random ones: for people, do not run it."),
    ] = False,
) -> None:
    """Print the hardened program of one payload, which does the same but cannot reach what is denied.

    The payload is not judged: a program is printed for one that is blocked, too. Exit code: 0 printed, 1 not
    hardenable, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward harden -e "document.title" --sink playwright.evaluate
      evalward harden payload.js --target renderer --shape async_body > hardened.js
      evalward harden -e "a[b](c)" --target main --shape expression --no-prelude --readable
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    payload = read_payload(file, code)
    given = bindings_option(bind or [])
    named = None if sink is None else sink_option(sink, target=target, shape=shape, bindings=given)
    if named is None and shape is None:
        raise typer.BadParameter("a program is made for a --sink or a --shape", param_hint="--shape")
    realm = named.target if named else target or Target.MAIN
    key = None if prepared is None else _key(prepared)
    try:
        rules = policy_in_force(policy, opt_in=[realm], profile=None).rules_for(realm, bindings=given)
    except CodedError as error:
        if row_of(error.code).cause is Cause.CALLER:
            raise typer.BadParameter(error.message) from None
        typer.echo(f"{error.code}: {error.message}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    made = harden_payload(
        payload,
        target=realm,
        shape=shape,
        sink=named.id if named else None,
        prefix=_readable_prefix(payload) if readable else new_prefix(),
        bindings=rules.bindings,
    )
    if isinstance(made, NotHardenable):
        typer.echo(f"{Code.EVAL_NOT_HARDENABLE}: {printable(_reason(payload, made))}", err=True)
        raise typer.Exit(NOT_HARDENABLE)
    text = made.text if key is None else for_key(made.text, made.runtime, made.target, key)
    sys.stdout.buffer.write((made.body if no_prelude else text) + b"\n")
    sys.stdout.flush()


def _key(given: str) -> str:
    """Return the key of a prepared page, which messages do not repeat."""
    if KEY.fullmatch(given):
        return given
    try:
        found = Path(given).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        found = ""
    if not KEY.fullmatch(found):
        raise typer.BadParameter(
            "neither a key of prepare_runtime nor a file with one", param_hint="--prepared"
        )
    return found


def _reason(payload: bytes, refusal: NotHardenable) -> str:
    """Return why there is no program, and the place where it is one."""
    if refusal.end <= refusal.start:
        return refusal.reason
    place = locate(payload, refusal.start, refusal.end)
    return f"{refusal.reason} (line {place.line}, column {place.column})"


def _readable_prefix(payload: bytes) -> str:
    """Return a short prefix that the payload does not contain; a random one if it contains all of them."""
    return next((each for each in _READABLE if each.encode() not in payload), new_prefix())
