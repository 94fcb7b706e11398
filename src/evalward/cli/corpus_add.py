"""``evalward corpus add``: write a case after the oracle has confirmed it."""

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from evalward.cli.exit_codes import USAGE
from evalward.cli.payload import read_payload
from evalward.cli.payload_options import CodeOption, SinkOption, shape_with
from evalward.cli.serverless import complete_target, sink_option, target_option
from evalward.corpus.corpus_case import Case, CorpusError, Expectation, load_cases
from evalward.guard.target import Shape, Target
from evalward.oracle import reached
from evalward.oracle.corpus_proof import verify_cases

NOT_CONFIRMED = 1
NO_ENGINE = 3


def corpus_add(  # noqa: PLR0913 - one parameter per field of a case
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The corpus file (.yaml); created if missing.")
    ],
    payload: Annotated[
        str | None,
        typer.Argument(metavar="[PAYLOAD | -]", help="The payload's file; - reads standard input."),
    ] = None,
    *,
    code: CodeOption = None,
    name: Annotated[str, typer.Option("--id", help="The case's id, unique in the file.")],
    expect: Annotated[Expectation, typer.Option(help="The verdict that the guard must give.")],
    sink: SinkOption = None,
    target: Annotated[
        Target | None,
        typer.Option(
            parser=target_option,
            metavar="TARGET",
            autocompletion=complete_target,
            help="Where it runs; default: the sink's, or main.",
        ),
    ] = None,
    shape: Annotated[Shape | None, shape_with("How the sink runs it; default: any.")] = None,
    reaches: Annotated[str | None, typer.Option(help="The capability, if an escape reaches several.")] = None,
    construct: Annotated[str | None, typer.Option(help="The construct that a block must name.")] = None,
    twin: Annotated[str | None, typer.Option(help="The id of the most similar benign case.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from: a CVE, a project.")] = None,
    technique: Annotated[str | None, typer.Option(help="How it works, in a few words.")] = None,
) -> None:
    """Add a case to FILE, after a run confirms that an escape reaches something, or a benign payload nothing.

    Exit code: 0 added, 1 not confirmed by the run, 2 usage, 3 no engine for this target here.

    \b
    Examples:
      evalward corpus add my-cases.yaml -e "process['ex'+'it'](0)" --id exit/concat --expect block
      evalward corpus add my-cases.yaml payload.js --id title --expect allow --target renderer
      evalward corpus add my-cases.yaml payload.js --id body --expect allow --sink node.function
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    try:
        text = read_payload(payload, code).decode()
        known = {case.id for case in load_cases([file])} if file.exists() and file.stat().st_size else set()
    except UnicodeDecodeError:
        raise typer.BadParameter("the payload is not UTF-8") from None
    except CorpusError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(USAGE) from None
    if file.suffix not in {".yaml", ".yml"}:
        raise typer.BadParameter(f"{file}: cases are added to a .yaml file")
    if name in known:
        raise typer.BadParameter(f"{file} has a case {name} already")
    named = None if sink is None else sink_option(sink, target=target, shape=shape, bindings={})
    if named is None and target is None:
        target = Target.MAIN
    fields: dict[str, Any] = {
        "id": name,
        "code": text,
        "target": target and target.value,
        "shape": shape and shape.value,
        "sink": named and named.id,
        "expect": expect.value,
        "construct": construct,
        "reaches": reaches,
        "twin": twin,
        "source": source,
        "technique": technique,
    }
    case = _case_of(fields)
    if expect is Expectation.BLOCK and reaches is None:
        found = reached(case.run_text, case.target, case.run_shape).reached
        reaches = fields["reaches"] = _only_one(sorted(found))
        case = _case_of(fields)
    (proof,) = verify_cases([case], workers=1).targets[0].proofs
    if proof.status not in {"proven", "clean"}:
        typer.echo(f"not added: {proof.reason}", err=True)
        raise typer.Exit(NO_ENGINE if proof.status == "unproven" else NOT_CONFIRMED)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.write(yaml.safe_dump([_present(fields)], sort_keys=False, allow_unicode=True, width=10_000))
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}") from None
    seen = f", seen by {proof.engine.value}" if proof.engine else ""
    typer.echo(f"added {name}: reaches {reaches}{seen}" if reaches else f"added {name}: reaches nothing")


def _case_of(fields: dict[str, Any]) -> Case:
    return Case.model_validate(_present(fields))


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _only_one(found: list[str]) -> str:
    if not found:
        typer.echo("not added: the payload reaches nothing", err=True)
        raise typer.Exit(NOT_CONFIRMED)
    if len(found) > 1:
        raise typer.BadParameter(f"it reaches {', '.join(found)}: choose one with --reaches")
    return found[0]
