"""``evalward mcp doctor``: which manifest fits a server, and what the proxy would deny."""

import json
import shutil
from typing import Annotated, Any

import typer

from evalward.cli import guard_values as values
from evalward.cli import mcp_options as options
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.mcp_guard import manifest_of, policy_of
from evalward.proxy.known_tools import KnownTools, known_tools
from evalward.proxy.probe import Probed, ProbeError, probe
from evalward.proxy.process_tree import adopt_orphans
from evalward.tools import Tool
from evalward.tools.kinds import FieldKind

DIFFERS = 1


def doctor(  # noqa: PLR0913 - one parameter per option
    command: options.Command,
    *,
    manifest: options.Manifest = None,
    allow_eval: options.AllowEval = "",
    policy: options.Policy = None,
    seconds: Annotated[float, typer.Option(min=1, max=600, help="How long the server may take.")] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Start the server's COMMAND, list its tools, and say which manifest fits and what would be denied.

    Exit code: 0 every tool is known, 1 some are denied or the server is unknown, 3 the server does not answer.

    \b
    Examples:
      evalward mcp doctor --allow-eval renderer -- npx -y @playwright/mcp@latest
      evalward mcp doctor --json -- python my_server.py
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    adopt_orphans()
    declared = manifest_of(manifest)
    allowed = policy_of(policy, values.targets(allow_eval)).allowed_targets
    try:
        found = probe([shutil.which(command[0]) or command[0], *command[1:]], seconds=seconds)
    except (OSError, ProbeError) as error:
        typer.echo(f"evalward mcp doctor: {error}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    known = known_tools(found.tools, server=found.name, declared=declared, source=str(manifest or ""))
    rows = [_row(str(tool["name"]), known, {str(each) for each in allowed}) for tool in found.tools]
    if as_json:
        _print_json(found, known, rows)
    else:
        _print_text(found, known, rows)
    if known.notice:
        raise typer.Exit(DIFFERS)


def _row(name: str, known: KnownTools, allowed: set[str]) -> dict[str, Any]:
    """Return what the proxy does with the calls of one tool."""
    tool = None if known.manifest is None else known.manifest.tool(name)
    if tool is None or name in known.differing:
        return {"tool": name, "calls": "denied", "why": f"not as in {known.name}", "fields": {}}
    fields = _fields(tool)
    if tool.is_eval and str(tool.target) not in allowed:
        why = f"--allow-eval={tool.target} permits it"
        return {"tool": name, "calls": "hidden", "why": why, "fields": fields}
    if tool.forbidden and not tool.is_eval:
        return {
            "tool": name,
            "calls": "judged",
            "why": f"denied with {', '.join(tool.forbidden)}",
            "fields": fields,
        }
    return {"tool": name, "calls": "judged" if fields else "pass", "why": "", "fields": fields}


def _fields(tool: Tool) -> dict[str, str]:
    found = dict.fromkeys(tool.sources, FieldKind.SOURCE.value) if tool.is_eval else {}
    return found | {
        name: rule.kind.value for name, rule in tool.fields.items() if rule.kind is not FieldKind.DATA
    }


def _print_json(found: Probed, known: KnownTools, rows: list[dict[str, Any]]) -> None:
    body = {
        "server": found.name,
        "version": found.version,
        "manifest": known.name,
        "differing": sorted(known.differing),
        "fits": not known.notice,
        "tools": rows,
    }
    typer.echo(json.dumps(body, indent=2))


def _print_text(found: Probed, known: KnownTools, rows: list[dict[str, Any]]) -> None:
    fits = "fits" if not known.notice else "is used"
    typer.echo(f"{found.name!a} {found.version!a}: {len(found.tools)} tools; {known.name} {fits}.")
    width = max((len(row["tool"]) for row in rows), default=0)
    for row in rows:
        fields = ", ".join(f"{name} ({kind})" for name, kind in row["fields"].items())
        words = "; ".join(each for each in (fields, row["why"]) if each)
        typer.echo(f"  {row['tool']:<{width}}  {row['calls']:<6}  {words}".rstrip())
    if known.notice:
        typer.echo(f"\n{known.notice}", nl=False)
