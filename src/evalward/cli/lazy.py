"""A command group that imports a command when it is first asked for, so that each starts fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(TyperGroup):
    """A group whose ``homes`` map a command's name to ``module:function``, or ``module:app`` for a group."""

    homes: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is the base class's
        """Return the names in the order in which help shows them."""
        return list(self.homes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is the base class's
        """Return the command, importing its module now, or None when there is no such command."""
        if cmd_name not in self.commands:
            if cmd_name not in self.homes:
                return None
            module, _, attribute = self.homes[cmd_name].partition(":")
            self.commands[cmd_name] = _as_command(cmd_name, getattr(import_module(module), attribute))
        return self.commands[cmd_name]


def _as_command(name: str, command: Any) -> Any:
    if isinstance(command, typer.Typer):
        group = get_command(command)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name)(command)
    return get_command(single)
