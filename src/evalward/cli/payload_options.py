"""The options with which several commands take a payload, and say who evaluates it where."""

from pathlib import Path
from typing import Annotated

import typer

from evalward.cli.serverless import (
    complete_sink,
    complete_target,
    profile_option,
    shape_option,
    target_option,
)
from evalward.guard.target import Profile, Shape, Target


def shape_with(help_text: str) -> typer.models.OptionInfo:
    """Return the option ``--shape`` of a command to which the shape means something of its own."""
    option: typer.models.OptionInfo = typer.Option(parser=shape_option, metavar="SHAPE", help=help_text)
    return option


FileArgument = Annotated[
    str | None, typer.Argument(metavar="[FILE | -]", help="The payload's file; - reads standard input.")
]
FilesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE | DIR | GLOB | -]...",
        help="Files, directories (their .js, .mjs and .cjs files), patterns such as 'src/**/*.js', or - for"
        " standard input.",
    ),
]
FieldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="PATH",
        help="The files are JSON (or .jsonl): judge the texts at this place, such as arguments.code, steps.*.code"
        " or /arguments/code; repeatable.",
    ),
]
CodeOption = Annotated[str | None, typer.Option("-e", "--code", help="The payload itself.")]
SinkOption = Annotated[
    str | None,
    typer.Option(
        metavar="SINK",
        autocompletion=complete_sink,
        help="What evaluates it, such as playwright.evaluate: evalward sinks lists them.",
    ),
]
TargetOption = Annotated[
    Target | None,
    typer.Option(
        parser=target_option,
        metavar="TARGET",
        autocompletion=complete_target,
        help="Where it would run: main, renderer (or page), node, sandbox; default: the sink's, or main.",
    ),
]
BindOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=KIND", help="What the sink binds, such as page=playwright.page; repeatable."),
]
ShapeOption = Annotated[Shape | None, shape_with("The wrapper that the sink adds; default: any.")]
ProfileOption = Annotated[
    Profile | None,
    typer.Option(
        parser=profile_option, metavar="PROFILE", help="How much must be proven; default: balanced."
    ),
]
PolicyOption = Annotated[
    Path | None, typer.Option(help="A policy file; without one, the target counts as opted in.")
]
