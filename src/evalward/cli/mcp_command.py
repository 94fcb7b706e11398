"""How ``evalward mcp`` reads its arguments: behind ``--`` stands the server's command, with options of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from evalward.cli.bare_allow_eval import spelled_out
from evalward.cli.lazy import LazyGroup, PanelCommand

_END = "--"
_HELP = frozenset({"-h", "--help"})


class ServerCommand(PanelCommand):
    """A command with options of ours, ``--allow-eval`` among them, and the server's command behind ``--``.

    The server's command begins with the first argument that is no option, if its client drops the ``--``.
    """

    allow_interspersed_args = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Normalise the flag in front of the server's command, then parse."""
        place = args.index(_END) if _END in args else len(args)
        return super().parse_args(ctx, [*spelled_out(args[:place]), *args[place:]])


class McpGroup(LazyGroup):
    """A group whose command ``run`` need not be named: ``evalward mcp -- COMMAND``."""

    homes: ClassVar = {
        "run": "evalward.cli.mcp_run:run",
        "config": "evalward.cli.mcp_config:config",
        "doctor": "evalward.cli.mcp_doctor:doctor",
    }
    leaf_class: ClassVar = ServerCommand

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command; the options of ``config`` may follow its first argument."""
        command = super().get_command(ctx, cmd_name)
        if cmd_name == "config":
            command.allow_interspersed_args = True
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``run`` where no command is named."""
        named = bool(args) and (args[0] in self.homes or args[0] in _HELP)
        return super().parse_args(ctx, args if named or not args else ["run", *args])
