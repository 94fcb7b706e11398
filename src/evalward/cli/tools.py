"""``evalward tools``: the manifest's schema, the list of tools that a policy shows, and drafts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from evalward.errors import CodedError
from evalward.policy import Policy, load_policy, parse_allow_eval
from evalward.tools import Manifest, load_manifest, read_arguments
from evalward.tools.describe import tools_list, visible
from evalward.tools.draft import draft_manifest

if TYPE_CHECKING:
    from collections.abc import Collection

    from evalward.guard.target import Target

INFRASTRUCTURE_FAILURE = 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The manifest of tools: its schema, its list, a draft of one.",
)

ManifestOption = Annotated[
    Path | None, typer.Option("--manifest", envvar="EVALWARD_MANIFEST", help="A manifest (YAML or JSON).")
]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", envvar="EVALWARD_POLICY", help="A policy file (YAML or TOML).")
]
AllowEvalOption = Annotated[
    str,
    typer.Option(
        "--allow-eval", envvar="EVALWARD_ALLOW_EVAL", help="Targets whose eval tools are shown, or all."
    ),
]


@app.callback(invoke_without_command=True)
def tools(
    context: typer.Context,
    *,
    json_schema: Annotated[
        bool,
        typer.Option(
            "--json-schema",
            help="Print the JSON Schema of a manifest, or, with --manifest, of every tool as in tools/list.",
        ),
    ] = False,
    manifest: ManifestOption = None,
    policy: PolicyOption = None,
    allow_eval: AllowEvalOption = "",
) -> None:
    """Show what is declared about tools.

    \b
    Examples:
      evalward tools --json-schema > manifest.schema.json
      evalward tools list --manifest manifest.yaml --allow-eval renderer
      evalward tools init --from tools.json > manifest.yaml
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if context.invoked_subcommand is not None:
        return
    if not json_schema:
        typer.echo(context.get_help())
        return
    if manifest is None:
        _print(Manifest.model_json_schema())
    else:
        declared, targets = _loaded(manifest, policy, allow_eval)
        _print({"tools": tools_list(declared, targets)})


@app.command("list")
def list_tools(
    *,
    manifest: ManifestOption = None,
    policy: PolicyOption = None,
    allow_eval: AllowEvalOption = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the entries of tools/list.")] = False,
) -> None:
    """List the tools that an agent is shown: the eval tools of a denied target are absent.

    \b
    Examples:
      evalward tools list --manifest manifest.yaml --allow-eval renderer
      evalward tools list --manifest manifest.yaml --policy policy.yaml --json
    """  # noqa: D301 - as above
    if manifest is None:
        raise typer.BadParameter("say which: --manifest FILE")
    declared, targets = _loaded(manifest, policy, allow_eval)
    entries = tools_list(declared, targets)
    if as_json:
        _print({"tools": entries})
        return
    for tool, entry in zip(visible(declared, targets), entries, strict=True):
        where = f" {tool.target}" if tool.target else ""
        typer.echo(f"{tool.name}  {tool.operation_type}{where}\n  {entry['description']}")
    hidden = len(declared.tools) - len(entries)
    if hidden:
        typer.echo(
            f"{hidden} eval tools are hidden: no --allow-eval or policy permits their targets.", err=True
        )


@app.command("init")
def init(
    *,
    source: Annotated[
        Path, typer.Option("--from", help="A tools/list result, or its list of tools, as JSON; - for stdin.")
    ],
    server: Annotated[str, typer.Option(help="What to call the server.")] = "",
) -> None:
    """Draft a manifest from a server's own list of tools, to be read before it is used.

    \b
    Examples:
      evalward tools init --from tools.json --server my-server > manifest.yaml
    """  # noqa: D301 - as above
    try:
        text = sys.stdin.buffer.read() if str(source) == "-" else source.read_bytes()
        found = _tools_in(text)
        drafted = draft_manifest(found, server=server or source.stem)
    except OSError as error:
        _fail(f"{source}: {error.strerror}")
    except CodedError as error:
        _fail(f"{source}: {error.message}")
    except (KeyError, TypeError, ValueError):
        _fail(f"{source}: no list of tools in it; it takes the result of tools/list")
    typer.echo(drafted, nl=False)


def _tools_in(text: bytes) -> list[dict[str, Any]]:
    """Return the tools of a list, of a result, or of a JSON-RPC response."""
    wrapped = text if text.lstrip().startswith(b"{") else b'{"tools":' + text + b"}"
    document = read_arguments(wrapped)
    found = document.get("result", document)["tools"]
    if not isinstance(found, list) or not all(isinstance(each, dict) and "name" in each for each in found):
        raise ValueError("no tools")
    return found


def _loaded(manifest: Path, policy: Path | None, allow_eval: str) -> tuple[Manifest, Collection[Target]]:
    try:
        declared = load_manifest(manifest)
        effective = Policy.default() if policy is None else load_policy(policy)
        targets = {*effective.allowed_targets, *parse_allow_eval(allow_eval)}
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")
    return declared, targets


def _print(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _fail(message: str) -> NoReturn:
    typer.echo(f"evalward tools: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
