"""The settings of each product that start the hook, with absolute paths: a relative one could let calls through."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalward.hook.blocking import BLOCKED

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS: Final = 10
"""The time limit of the product: longer than the client's (``ask.LIMIT``), which blocks when it ends."""
COLD_SECONDS: Final = 60
"""The same where the client may judge without a service."""


def command_of(product: str, address: str, more: Sequence[str] = (), *, cold: Sequence[str] = ()) -> str:
    """Return the shell command that answers the hook of ``product`` from the service at ``address``.

    The shell makes 2 of every other exit code, such as that of an interpreter that is gone or was killed.
    ``more`` are options of the client. ``cold`` is the command that judges where no service answers; empty: blocked.
    """
    client = str(Path(__file__).with_name("ask.py").resolve())
    words = [sys.executable, "-I", "-S", client, product, address, *more]
    return f"{shlex.join([*words, '--cold', *cold] if cold else words)} || exit {BLOCKED}"


def settings_of(product: str, command: str, *, is_cold: bool = False, block_on_failure: bool = False) -> str:
    """Return what the user puts into the settings of ``product``.

    ``is_cold``: the command may judge without a service. ``block_on_failure`` adds Claude Code's ``onFailure``, which
    older versions do not know.
    """
    limit = COLD_SECONDS if is_cold else SECONDS
    hook: dict[str, object] = {"type": "command", "command": command, "timeout": limit}
    if product == "docker":
        return f"docker mcp gateway run --interceptor {shlex.quote(f'before:exec:{command}')}\n"
    if product == "cursor":
        cursor = {"command": command, "failClosed": True}
        return _text({"version": 1, "hooks": {"beforeMCPExecution": [cursor]}})
    if product == "vscode":
        return _text({"hooks": {"PreToolUse": [hook]}})
    if block_on_failure:
        hook["onFailure"] = "block"
    return _text({"hooks": {"PreToolUse": [{"matcher": "mcp__.*", "hooks": [hook]}]}})


def _text(body: object) -> str:
    return json.dumps(body, indent=2) + "\n"
