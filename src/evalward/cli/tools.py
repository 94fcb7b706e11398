"""``evalward tools``: the manifest's schema, the list of tools that a policy shows, ready ones, and drafts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from evalward.cli.bare_allow_eval import AllowEvalCommand, AllowEvalGroup
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.errors import CodedError
from evalward.policy import Policy, load_policy, parse_allow_eval
from evalward.tools import Manifest, load_manifest, read_arguments
from evalward.tools.describe import tools_list, visible
from evalward.tools.draft import draft_manifest, draft_tools, manifest_yaml
from evalward.tools.manifest_match import match
from evalward.tools.ready import SCHEME, load_ready, ready_names
from evalward.tools.ready.table import fields_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from evalward.guard.target import Target
    from evalward.policy.field_values import FieldsPolicy
    from evalward.tools.manifest_match import Match


app = typer.Typer(
    cls=AllowEvalGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The manifest of tools: its schema, its list, a draft.",
)

ManifestOption = Annotated[
    Path | None,
    typer.Option("--manifest", envvar="EVALWARD_MANIFEST", help="A manifest (YAML or JSON), or ready:NAME."),
]
PolicyOption = Annotated[
    Path | None, typer.Option("--policy", envvar="EVALWARD_POLICY", help="A policy file (YAML or TOML).")
]
FromOption = Annotated[
    Path,
    typer.Option("--from", help="A tools/list result, or its list of tools, as JSON; - for stdin."),
]
AllowEvalOption = Annotated[
    str,
    typer.Option(
        "--allow-eval",
        envvar="EVALWARD_ALLOW_EVAL",
        metavar="[=TARGETS]",
        help="Targets whose eval tools are shown: --allow-eval=renderer; the bare flag: all.",
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
    """Show and draft the manifest of tools.

    \b
    Examples:
      evalward tools --json-schema > manifest.schema.json
      evalward tools list --manifest manifest.yaml --allow-eval=renderer
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
        declared, targets, fields = _loaded(manifest, policy, allow_eval)
        _print({"tools": tools_list(declared, targets, fields)})


@app.command("list", cls=AllowEvalCommand)
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
      evalward tools list --manifest manifest.yaml --allow-eval=renderer
      evalward tools list --manifest manifest.yaml --policy policy.yaml --json
    """  # noqa: D301 - as above
    if manifest is None:
        raise typer.BadParameter("--manifest FILE is required")
    declared, targets, fields = _loaded(manifest, policy, allow_eval)
    entries = tools_list(declared, targets, fields)
    if as_json:
        _print({"tools": entries})
        return
    for tool, entry in zip(visible(declared, targets), entries, strict=True):
        where = f" {tool.target}" if tool.target else ""
        typer.echo(f"{tool.name}  {tool.operation_type}{where}\n  {entry['description']}")
    hidden = len(declared.tools) - len(entries)
    if hidden:
        tools = "1 eval tool is" if hidden == 1 else f"{hidden} eval tools are"
        typer.echo(f"{tools} hidden: no --allow-eval or policy permits the target.", err=True)


@app.command("ready")
def list_ready(
    *,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of the fields that are judged.")
    ] = False,
) -> None:
    """List the ready manifests, each as `--manifest` takes it.

    \b
    Examples:
      evalward tools ready
      evalward serve --manifest ready:playwright-mcp/default --allow-eval renderer
    """  # noqa: D301 - as above
    if as_markdown:
        typer.echo(fields_table(), nl=False)
        return
    for name in ready_names():
        typer.echo(f"{SCHEME}{name}")


@app.command("init")
def init(
    *,
    source: FromOption,
    server: Annotated[str, typer.Option(help="The name of the server.")] = "",
) -> None:
    """Draft a manifest from a server's own list of tools. Review it before you use it.

    \b
    Examples:
      evalward tools init --from tools.json --server my-server > manifest.yaml
    """  # noqa: D301 - as above
    document, found = _read(source)
    typer.echo(draft_manifest(found, server=server or _server_in(document) or source.stem), nl=False)


@app.command("match")
def match_server(
    *,
    source: FromOption,
    server: Annotated[str, typer.Option(help="The name in the server's answer to initialize.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the match as JSON.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the manifest of the variant as YAML.")] = False,
) -> None:
    """Find the ready manifest of a server by its list of tools, and print the differences.

    Exit code: 0 an exact match, 1 differences or no match.

    \b
    Examples:
      evalward tools match --from tools.json
      evalward tools match --from tools.json --print > manifest.yaml
    """  # noqa: D301 - as above
    document, listed = _read(source)
    found = match(listed, server=server or _server_in(document))
    if show and found.ready is not None:
        typer.echo(manifest_yaml(load_ready(found.ready)), nl=False)
    elif as_json:
        _print(found.as_json())
    else:
        _tell(found, listed)
    if not found.exact:
        raise typer.Exit(1)


def _tell(found: Match, listed: Sequence[Mapping[str, Any]]) -> None:
    if found.ready is None:
        typer.echo("No ready manifest matches; `evalward tools init --from FILE > manifest.yaml` drafts one.")
        return
    fits = "fits exactly" if found.exact else "is the closest ready manifest"
    typer.echo(f"{SCHEME}{found.ready} {fits}.")
    if not found.same_name:
        typer.echo("The server reports another name.")
    for what, names in (("new", found.new), ("missing", found.missing), ("other schema", found.changed)):
        if names:
            typer.echo(f"{what}: {', '.join(names)}")
    for name, now in found.renamed:
        typer.echo(f"renamed: {name} is now {now}")
    more = {*found.new, *found.changed, *(now for _, now in found.renamed)}
    if more:
        typer.echo("\nDrafts of these, to be read before they are added to a copy (--print):\n")
        typer.echo(draft_tools([tool for tool in listed if tool["name"] in more]), nl=False)


def _read(source: Path) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    """Return the document and its tools: a list, a result, a JSON-RPC response, or several with initialize's."""
    try:
        text = sys.stdin.buffer.read() if str(source) == "-" else source.read_bytes()
        wrapped = text if text.lstrip().startswith(b"{") else b'{"tools":' + text + b"}"
        document = read_arguments(wrapped, any_integer=True)
        found = _tools_in(document)
    except OSError as error:
        raise typer.BadParameter(f"cannot read {source}: {error.strerror}", param_hint="--from") from None
    except CodedError as error:
        raise typer.BadParameter(f"{source}: {error.message}", param_hint="--from") from None
    if found is None:
        text = f"{source} has no list of tools; the result of tools/list is expected"
        raise typer.BadParameter(text, param_hint="--from")
    return document, found


def _tools_in(document: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    found: Any = document
    for name in ("result", "tools", "tools"):
        if isinstance(found, dict):
            found = found.get(name, found)
    if not isinstance(found, list) or not all(isinstance(each, dict) and "name" in each for each in found):
        return None
    return found


def _server_in(document: Mapping[str, Any]) -> str | None:
    """Return the name that a server reports, if the document has its answer to initialize."""
    place: Any = document
    for name in ("initialize", "serverInfo", "name"):
        place = place.get(name) if isinstance(place, dict) else None
    return place if isinstance(place, str) else None


def _loaded(
    manifest: Path, policy: Path | None, allow_eval: str
) -> tuple[Manifest, Collection[Target], FieldsPolicy]:
    try:
        declared = load_manifest(manifest)
        effective = Policy.default() if policy is None else load_policy(policy)
        targets = {*effective.allowed_targets, *parse_allow_eval(allow_eval)}
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")
    return declared, targets, effective.fields


def _print(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _fail(message: str) -> NoReturn:
    typer.echo(f"evalward tools: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
