"""The options of ``evalward mcp``. Those of ``serve`` load the audit log, which would delay the server's start."""

from pathlib import Path
from typing import Annotated

import typer

Command = Annotated[
    list[str],
    typer.Argument(
        metavar="-- COMMAND [ARGUMENTS]", help="The server's command, as it stands in a client's file."
    ),
]
OptionalCommand = Annotated[
    list[str] | None,
    typer.Argument(metavar="-- COMMAND [ARGUMENTS]", help="The server's command."),
]
Manifest = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_MANIFEST",
        help="A manifest (YAML or JSON), or ready:NAME. Default: the ready one that fits the server's tools.",
    ),
]
AllowEval = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_ALLOW_EVAL",
        metavar="[=TARGETS]",
        help="Targets whose payloads may be allowed: --allow-eval=renderer; the bare flag: all.",
    ),
]
Policy = Annotated[Path | None, typer.Option(envvar="EVALWARD_POLICY", help="A policy file (YAML or TOML).")]
AuditLog = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_AUDIT_LOG",
        help="The audit log. Default: a file of this process in the user's state directory.",
    ),
]
Workers = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_WORKERS",
        help="Guard processes; 0: judge in this process, as on Windows; auto: one per core.",
    ),
]
Http = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Guard the server at this URL (streamable HTTP) instead of a COMMAND."),
]
Listen = Annotated[str, typer.Option(metavar="ADDRESS", help="Where clients reach the proxy of --http.")]
Server = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Ask a running service instead: HOST:PORT, tls:HOST:PORT or unix:PATH; EVALWARD_TOKEN is its token.",
    ),
]
