"""The configuration files of MCP clients: where they are, and how a server stands in them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence


class Client(StrEnum):
    """The clients whose files are known."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    WINDSURF = "windsurf"


class ClientFileError(Exception):
    """The file is not one that can be edited; the text says why, and nothing has been changed."""


_SECTIONS: Final = {Client.VSCODE: "servers"}
_TYPED: Final = frozenset({Client.VSCODE, Client.CLAUDE_CODE})


def file_of(client: Client) -> Path:
    """Return the user's file of ``client``; Claude Code's is that of the project in the working directory."""
    places = {
        Client.CLAUDE_DESKTOP: _application_data() / "Claude" / "claude_desktop_config.json",
        Client.CLAUDE_CODE: Path.cwd() / ".mcp.json",
        Client.CURSOR: Path.home() / ".cursor" / "mcp.json",
        Client.VSCODE: _application_data() / "Code" / "User" / "mcp.json",
        Client.WINDSURF: Path.home() / ".codeium" / "windsurf" / "mcp_config.json",
    }
    return places[client]


def section_of(client: Client) -> str:
    """Return the key under which ``client`` has its servers."""
    return _SECTIONS.get(client, "mcpServers")


def entry_of(client: Client, command: Sequence[str], *, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the entry of a server that ``command`` starts."""
    kind = {"type": "stdio"} if client in _TYPED else {}
    return {**kind, "command": command[0], "args": [*command[1:]], **({"env": env} if env else {})}


def read_servers(client: Client, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document of ``file`` and its servers, both empty without a file; raise ClientFileError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}, {}
    except (OSError, UnicodeDecodeError) as error:
        raise ClientFileError(f"{file} cannot be read: {error}") from None
    try:
        document = json.loads(text) if text.strip() else {}
    except ValueError:
        why = (
            f"{file} is no plain JSON (it may have comments), so it is not edited; put the snippet in by hand"
        )
        raise ClientFileError(why) from None
    servers = document.get(section_of(client), {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise ClientFileError(f"{file} has no object under {section_of(client)}")
    return document, servers


def write_server(client: Client, file: Path, name: str, entry: dict[str, Any]) -> Path | None:
    """Put the server ``name`` into ``file`` and return the backup of the old one, None for a new file.

    The other content stays; the file is replaced at once or not at all. Raises ClientFileError.
    """
    document, servers = read_servers(client, file)
    document[section_of(client)] = {**servers, name: entry}
    target = file.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(target)
        descriptor, made = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        if backup is not None:
            shutil.copymode(target, made)
        Path(made).replace(target)
    except OSError as error:
        raise ClientFileError(f"{file} cannot be written: {error.strerror}") from None
    return backup


def _backup(file: Path) -> Path | None:
    """Copy ``file`` in its directory under a name that is free."""
    if not file.exists():
        return None
    number = 1
    while (backup := file.with_name(f"{file.name}.{number}.bak")).exists():
        number += 1
    shutil.copy2(file, backup)
    return backup


def _application_data() -> Path:
    """Return the directory in which desktop applications keep the user's settings."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming"))
    return Path(os.environ.get("XDG_CONFIG_HOME", Path.home() / ".config"))
