"""``--allow-eval`` with an optional value, which Typer lacks: the same in every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evalward.cli.lazy import PanelCommand, SuggestingGroup

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

FLAG: Final = "--allow-eval"


def spelled_out(args: Sequence[str], *, commands: Container[str] = ()) -> list[str]:
    """Return ``args`` with the flag in one form: ``--allow-eval=TARGETS``, and ``=all`` for the bare flag.

    ``--allow-eval TARGETS`` means the same as with ``=``. A bare flag is followed by another option, the end of the
    command, or one of ``commands``. A repeated flag adds targets; ``parse_allow_eval`` rejects a list that contains a
    bare flag, since ``all`` must be alone.
    """
    spelled: list[str] = []
    named: list[str] = []
    place_of_flag = 0
    rest = iter(range(len(args)))
    for place in rest:
        following = args[place + 1] if place + 1 < len(args) else "-"
        if args[place].startswith(f"{FLAG}="):
            named.append(args[place].removeprefix(f"{FLAG}="))
        elif args[place] != FLAG:
            spelled.append(args[place])
            continue
        elif following.startswith("-") or following in commands:
            named.append("all")
        else:
            named.append(following)
            next(rest)
        if len(named) == 1:
            place_of_flag = len(spelled)
            spelled.append("")
    if named:
        spelled[place_of_flag] = f"{FLAG}={','.join(named)}"
    return spelled


class AllowEvalCommand(PanelCommand):
    """A command with ``--allow-eval`` and without arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Normalise the flag, then parse."""
        return super().parse_args(ctx, spelled_out(args))


class AllowEvalGroup(SuggestingGroup):
    """A group with ``--allow-eval`` among its own options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Normalise the flag, then parse."""
        return super().parse_args(ctx, spelled_out(args, commands=self.commands))
