"""``evalward oracle``: run a payload among traps and list the capabilities that it reaches.

Register as ``"oracle": "evalward.cli.oracle:oracle"`` in ``evalward.cli.app``.
"""

import json
from typing import Annotated

import typer

from evalward.cli.payload import read_payload
from evalward.cli.payload_options import BindOption, CodeOption, FileArgument, shape_with
from evalward.cli.serverless import bindings_option, complete_target, target_option
from evalward.guard.target import Shape, Target
from evalward.oracle import OracleReport, reached

REACHED = 1


def oracle(  # noqa: PLR0913 - one parameter per option
    file: FileArgument = None,
    *,
    code: CodeOption = None,
    target: Annotated[
        Target,
        typer.Option(
            parser=target_option,
            metavar="TARGET",
            autocompletion=complete_target,
            help="Where it runs: main, renderer (or page), node, sandbox.",
        ),
    ] = Target.MAIN,
    shape: Annotated[
        Shape | None, shape_with("How it is run; default: in each shape that it may have.")
    ] = None,
    bind: BindOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with every run.")] = False,
) -> None:
    """Run a payload in every engine for the target, and list the capabilities that it reached.

    The payload calls traps instead of real APIs; still, run only payloads with it. No hit does not prove safety. Exit
    code: 0 nothing reached, 1 something reached, 2 usage, 3 infrastructure.

    \b
    Examples:
      evalward oracle -e "[].at.constructor('return process')()"
      evalward oracle -e "document.title" --target renderer --json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        text = read_payload(file, code).decode()
    except UnicodeDecodeError:
        raise typer.BadParameter("the payload is not UTF-8") from None
    report = reached(text, target, shape, bindings=bindings_option(bind or []))
    typer.echo(json.dumps(report.to_json()) if as_json else "\n".join(_lines(report)))
    if report.reached:
        raise typer.Exit(REACHED)


def _lines(report: OracleReport) -> list[str]:
    lines = [
        f"{'reached' if name in report.reached else 'touched'} {name} "
        f"(seen by {', '.join(engine.value for engine in report.seen_by(name))})"
        for name in sorted(report.touched)
    ]
    lines = lines or ["nothing reached"]
    lines += [f"not run: {engine.value}: {reason}" for engine, reason in report.absent.items()]
    return lines
