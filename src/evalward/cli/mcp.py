"""``evalward mcp``: a guard before an MCP server that stays as it is, and what helps to set it up."""

import typer

from evalward.cli.mcp_command import McpGroup

app = typer.Typer(
    cls=McpGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def mcp() -> None:
    """Guard an MCP server that you did not write: put `evalward mcp --` before its command.

    \b
    Examples:
      evalward mcp --allow-eval renderer -- npx -y @playwright/mcp@latest
      evalward mcp doctor -- npx -y @playwright/mcp@latest
      evalward mcp config claude-desktop --allow-eval renderer --write -- npx -y @playwright/mcp@latest
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
