"""``evalward mcp config``: the entry of a guarded server in a client's configuration file."""

import json
import re
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from evalward.cli import mcp_options as options
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.proxy.client_files import (
    Client,
    ClientFileError,
    entry_of,
    file_of,
    read_servers,
    section_of,
    write_server,
)

# What runs a server is not its name, whatever its version: python3.11, node22, npx.cmd.
_RUNNER = re.compile(
    r"(?:npx|uvx|uv|pipx|node|python|pypy|bunx|bun|deno|run|exec|dlx)[\d.]*(?:\.(?:exe|cmd))?", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Form(StrEnum):
    """How a client starts Evalward."""

    PATH = "path"
    UVX = "uvx"
    PIPX = "pipx"


ClientArgument = Annotated[Client, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(Client)}.")]


def config(  # noqa: PLR0913 - one parameter per option
    client: ClientArgument,
    command: options.OptionalCommand = None,
    *,
    name: Annotated[
        str | None, typer.Option(help="The server's name in the file. Default: from its command.")
    ] = None,
    form: Annotated[Form | None, typer.Option(help="How the client starts Evalward. Default: path.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Edit the client's file, after a backup.")] = False,
    file: Annotated[
        Path | None, typer.Option(help="The file to read and edit. Default: that of the client.")
    ] = None,
    allow_eval: options.AllowEval = "",
    policy: options.Policy = None,
    manifest: options.Manifest = None,
    audit_log: options.AuditLog = None,
) -> None:
    """Print the entry that guards a server, or put it into the client's file.

    Without a COMMAND the server that the file already has under --name is guarded.

    \b
    Examples:
      evalward mcp config claude-desktop --allow-eval renderer --write -- npx -y @playwright/mcp@latest
      evalward mcp config cursor --name playwright --allow-eval renderer --write
      evalward mcp config vscode --form uvx -- npx -y chrome-devtools-mcp@latest
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    place = file or file_of(client)
    env: dict[str, str] | None = None
    try:
        if command:
            called = name or _name_of(command)
        else:
            command, env, called = _present(client, place, name)
        flags = _flags(allow_eval, policy, manifest, audit_log)
        server = [shutil.which(command[0]) or command[0], *command[1:]]
        if not write:
            _print(client, called, form, flags, server, env)
            return
        chosen = form or Form.PATH
        entry = entry_of(client, [*_evalward(chosen), "mcp", *flags, "--", *server], env=env)
        backup = write_server(client, place, called, entry)
    except ClientFileError as refusal:
        _fail(str(refusal))
    kept = "" if backup is None else f" The old file is {backup}."
    typer.echo(f"{called} is guarded in {place}.{kept} Restart the client.")


def _present(client: Client, file: Path, name: str | None) -> tuple[list[str], dict[str, str] | None, str]:
    """Return command, environment and name of the server that ``file`` has already."""
    _, servers = read_servers(client, file)
    if name is None or name not in servers:
        known = ", ".join(servers) or "none"
        raise typer.BadParameter(
            f"give a COMMAND behind --, or the --name of a server in {file} (it has: {known})"
        )
    entry: Any = servers[name]
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        raise ClientFileError(f"{name} in {file} has no command; a server with a URL is guarded with --http")
    arguments = [str(each) for each in entry.get("args") or []]
    if "mcp" in arguments[:4] and any("evalward" in each for each in [entry["command"], *arguments[:3]]):
        raise ClientFileError(f"{name} in {file} is guarded already")
    env = entry.get("env")
    return [entry["command"], *arguments], env if isinstance(env, dict) else None, name


def _flags(allow_eval: str, policy: Path | None, manifest: Path | None, audit_log: Path | None) -> list[str]:
    flags = [f"--allow-eval={allow_eval}"] if allow_eval else []
    for option, value in (("--policy", policy), ("--manifest", manifest), ("--audit-log", audit_log)):
        if value is not None:
            # A client starts the server in a directory of its own.
            is_name = str(value).startswith("ready:")
            flags.append(f"{option}={value if is_name else value.resolve()}")
    return flags


def _evalward(form: Form) -> list[str]:
    """Return the command of Evalward in ``form``, with an absolute path: a desktop client has another PATH."""
    if form is Form.PATH:
        found = shutil.which("evalward") or shutil.which("evalward", path=str(Path(sys.executable).parent))
        return [str(Path(found).absolute())] if found else [sys.executable, "-P", "-m", "evalward"]
    tool = shutil.which(form.value) or form.value
    return [tool, "evalward"] if form is Form.UVX else [tool, "run", "evalward"]


def _print(  # noqa: PLR0913, PLR0917 - what an entry is made of
    client: Client,
    name: str,
    form: Form | None,
    flags: list[str],
    server: list[str],
    env: dict[str, str] | None,
) -> None:
    for each in [form] if form is not None else [*Form]:
        entry = entry_of(client, [*_evalward(each), "mcp", *flags, "--", *server], env=env)
        if form is None:
            typer.echo(f"// {each}: in {file_of(client)}")
        typer.echo(json.dumps({section_of(client): {name: entry}}, indent=2, ensure_ascii=False))


def _name_of(command: list[str]) -> str:
    """Return a name for the server: that of the package or file that the command names."""
    for word in command:
        base = Path(word).name.split("@")[0] or word.split("@")[1 if word.startswith("@") else 0]
        if word.startswith("-") or _RUNNER.fullmatch(base):
            continue
        scope = re.fullmatch(r"@([^/]+)/mcp(?:@.*)?", word)
        found = re.sub(r"[^A-Za-z0-9_-]+", "-", scope[1] if scope else base.rsplit(".", 1)[0]).strip("-")
        if _NAME.fullmatch(found):
            return found
    return "guarded"


def _fail(message: str) -> NoReturn:
    typer.echo(f"evalward mcp config: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
