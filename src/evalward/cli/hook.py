"""``evalward hook``: answer the hook of an agent or gateway, and print the settings that start it.

Whatever fails, the exit code is 2: that blocks the call, while most products let it through on any other failure.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalward.cli.bare_allow_eval import AllowEvalCommand
from evalward.hook.blocking import blocked
from evalward.hook.products import PRODUCTS
from evalward.hook.settings import command_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Answer the hooks of agents and gateways about tool calls.",
)

Connect = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_HOOK",
        metavar="unix:PATH",
        help="The socket of a service: its --hook-listen.",
    ),
]
TokenFile = Annotated[
    Path | None, typer.Option(envvar="EVALWARD_HOOK_TOKEN_FILE", help="A file with the service's token.")
]
PeerUid = Annotated[
    int | None, typer.Option(help="The user id of the service. [default: this user's, or root's]")
]
Cold = Annotated[
    bool,
    typer.Option("--cold", help="Judge in this process where no service answers, with the options below."),
]
PolicyFile = Annotated[
    Path | None, typer.Option(envvar="EVALWARD_POLICY", help="With --cold: a policy file (YAML or TOML).")
]
AllowEval = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_ALLOW_EVAL",
        metavar="[=TARGETS]",
        help="With --cold: targets whose payloads may be allowed; the bare flag: all.",
    ),
]
ServerNames = Annotated[
    list[str],
    typer.Option(
        "--server",
        envvar="EVALWARD_SERVER",
        metavar="NAME=MANIFEST",
        help="With --cold: which manifest a server's name has, as in `evalward serve`; repeatable.",
    ),
]
AuditLogFile = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_HOOK_AUDIT_LOG",
        help="With --cold: the audit log. [default: evalward/hook.jsonl in XDG_STATE_HOME or ~/.local/state]",
    ),
]


def _answer(product: str) -> Callable[..., None]:
    def answer(  # noqa: PLR0913 - one parameter per option
        *,
        connect: Connect = "",
        token_file: TokenFile = None,
        peer_uid: PeerUid = None,
        cold: Cold = False,
        policy: PolicyFile = None,
        allow_eval: AllowEval = "",
        server: ServerNames = [],  # noqa: B006 - never modified
        audit_log: AuditLogFile = None,
    ) -> None:
        if connect:
            more = ["--cold", *_cold_command(product, policy, allow_eval, server, audit_log)] if cold else []
            try:
                from evalward.hook import ask  # noqa: PLC0415 - POSIX only
            except ImportError:
                raise typer.Exit(
                    blocked("This system has no Unix sockets for --connect; give --cold.")
                ) from None
            os._exit(ask.main([product, connect, *_client_options(token_file, peer_uid), *more]))
        if not cold:
            raise typer.BadParameter("give --connect unix:PATH, or --cold")
        try:
            from evalward.cli.hook_cold import judge_cold, standard_input  # noqa: PLC0415 - the whole guard

            made = judge_cold(
                product,
                standard_input(),
                policy=policy,
                allow_eval=allow_eval,
                servers=server,
                audit_log=audit_log,
            )
            sys.stdout.buffer.write(made.stdout)
            sys.stdout.buffer.flush()
        except BaseException as failure:  # noqa: BLE001 - anything else than 2 would let the call through
            text = str(getattr(failure, "message", "")) or type(failure).__name__
            raise typer.Exit(blocked(f"The call could not be judged: {text}")) from None
        raise typer.Exit(made.exit_code)

    answer.__doc__ = f"""Answer the hook of {_TITLES[product]}: its JSON on stdin, its answer on stdout.

    Exit code 2 blocks the call, and is that of every failure.
    """
    return answer


_TITLES = {
    "claude-code": "Claude Code (PreToolUse)",
    "cursor": "Cursor (beforeMCPExecution)",
    "vscode": "VS Code (PreToolUse)",
    "docker": "the Docker MCP gateway (an interceptor)",
}
for _product in PRODUCTS:
    app.command(_product, cls=AllowEvalCommand)(_answer(_product))


@app.command("config", cls=AllowEvalCommand)
def config(  # noqa: PLR0913 - one parameter per option
    product: Annotated[str, typer.Argument(help="claude-code, cursor, vscode or docker.")],
    *,
    connect: Connect,
    token_file: TokenFile = None,
    peer_uid: PeerUid = None,
    cold: Cold = False,
    policy: PolicyFile = None,
    allow_eval: AllowEval = "",
    server: ServerNames = [],  # noqa: B006 - never modified
    audit_log: AuditLogFile = None,
    block_on_failure: Annotated[
        bool,
        typer.Option(
            "--block-on-failure", help='Claude Code from 2.1.295: add `onFailure: "block"` to the hook.'
        ),
    ] = False,
) -> None:
    """Print the settings with which a product starts the hook.

    \b
    Examples:
      evalward hook config claude-code --connect unix:/run/user/1000/evalward.sock
      evalward hook config cursor --connect unix:/run/user/1000/evalward.sock --cold --allow-eval=renderer
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if product not in PRODUCTS:
        raise typer.BadParameter(f"there is no product {product[:40]!a}; there are {', '.join(PRODUCTS)}")
    if not connect.startswith("unix:/"):
        raise typer.BadParameter("--connect is unix: and an absolute path")
    fallback = _cold_command(product, policy, allow_eval, server, audit_log) if cold else []
    command = command_of(product, connect, _client_options(token_file, peer_uid), cold=fallback)
    typer.echo(settings_of(product, command, is_cold=cold, block_on_failure=block_on_failure), nl=False)


def _client_options(token_file: Path | None, peer_uid: int | None) -> list[str]:
    options = [] if token_file is None else ["--token-file", str(token_file.absolute())]
    return options if peer_uid is None else [*options, "--peer-uid", str(peer_uid)]


def _cold_command(
    product: str, policy: Path | None, allow_eval: str, servers: list[str], audit_log: Path | None
) -> list[str]:
    """Return the command that judges without a service."""
    words = [sys.executable, "-m", "evalward", "hook", product, "--cold"]
    words += [] if policy is None else ["--policy", str(policy.absolute())]
    words += [f"--allow-eval={allow_eval}"] if allow_eval else []
    for each in servers:
        words += ["--server", each]
    return words if audit_log is None else [*words, "--audit-log", str(audit_log.absolute())]
