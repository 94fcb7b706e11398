"""A command group that imports each command on first use, so that the command line starts fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from evalward.similar import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping


class PanelCommand(TyperCommand):
    """A command whose help is in panels (``evalward.cli.help_panels``).

    ``panels`` maps a title to the prefixes of the options in that panel.
    """

    panels: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        from evalward.cli.help_panels import help_text  # noqa: PLC0415 - drawing takes time that only --help spends

        formatter.write(help_text(self, ctx, self.panels))


class SuggestingGroup(TyperGroup):
    """A group that suggests similar commands for an unknown one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that ``args`` begin with; the error for an unknown one suggests similar commands."""
        name = args[0]
        if name not in self.list_commands(ctx) and not name.startswith("-"):
            ctx.fail(f"there is no command {name!a}{did_you_mean(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class LazyGroup(SuggestingGroup):
    """A group whose ``homes`` map a command's name to ``module:function``, or ``module:app`` for a group."""

    homes: ClassVar[Mapping[str, str]] = {}
    leaf_class: ClassVar[type[TyperCommand]] = PanelCommand

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is the base class's
        """Return the names in the order of the help."""
        return list(self.homes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is the base class's
        """Return the command, importing its module now, or None when there is no such command."""
        if cmd_name not in self.commands:
            if cmd_name not in self.homes:
                return None
            module, _, attribute = self.homes[cmd_name].partition(":")
            self.commands[cmd_name] = _as_command(
                cmd_name, getattr(import_module(module), attribute), self.leaf_class
            )
        return self.commands[cmd_name]


def _as_command(name: str, command: Any, kind: type[TyperCommand]) -> Any:
    if isinstance(command, typer.Typer):
        for each in command.registered_commands:
            if each.cls in (None, TyperCommand):
                each.cls = PanelCommand
        if command.info.cls in (None, TyperGroup) or not isinstance(command.info.cls, type):
            command.info.cls = SuggestingGroup
        group = get_command(command)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name, cls=kind)(command)
    return get_command(single)
