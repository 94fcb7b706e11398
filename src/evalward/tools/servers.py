"""The servers of a client's configuration: which manifest a name there means.

A hook or a gateway sees the name under which the user configured a server, in the spelling of the product, and not
what the server says of itself. The operator names the manifests (``--server NAME=MANIFEST``). Names under which a
server is usually configured are known, unless two servers share the name. A manifest is the whole family: a door does
not see the list of tools, which would tell the variant.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.tools.manifest_source import load_manifest
from evalward.tools.ready import SCHEME, load_ready, ready_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evalward.tools.manifest import Manifest

_OTHER: Final = re.compile(r"[^a-z0-9]")
_READY: Final = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)?")
VSCODE_LETTERS: Final = 13
"""VS Code keeps so many characters of a server's name in the names of its tools."""
USUAL_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "playwright": "playwright-mcp",
        "playwright-mcp": "playwright-mcp",
        "microsoft/playwright-mcp": "playwright-mcp",
        "plugin_playwright_playwright": "playwright-mcp",
        "chrome-devtools": "chrome-devtools-mcp",
        "chrome-devtools-mcp": "chrome-devtools-mcp",
        "chromedevtools/chrome-devtools-mcp": "chrome-devtools-mcp",
        "plugin_chrome-devtools-mcp_chrome-devtools": "chrome-devtools-mcp",
        "selenium": "mcp-selenium",
        "mcp-selenium": "mcp-selenium",
        "seleniumbase": "seleniumbase-mcp",
        "seleniumbase-mcp": "seleniumbase-mcp",
        "electron-stagewright": "electron-stagewright",
        "server-puppeteer": "server-puppeteer",
        "puppeteer-mcp-server": "puppeteer-mcp-server",
    }
)
"""The usual names of servers, with their ready manifests. ``puppeteer`` means two servers, so it is none of these."""


class Named(NamedTuple):
    """One reading of a product's name for a tool: the server, as it is spelled there, and the tool.

    ``server`` is None where the product does not say it. ``is_cut``: the product shortens the names of servers.
    """

    server: str | None
    tool: str
    is_cut: bool = False


class Found(NamedTuple):
    """The server and tool that a name means; without a manifest the server is unknown."""

    tool: str
    manifest: Manifest | None


@dataclass(frozen=True, slots=True)
class Servers:
    """The manifests of servers: those that the operator ``named``, then the usual names, unless ``usual`` is off."""

    named: Mapping[str, Manifest] = field(default_factory=dict)
    usual: bool = True

    @classmethod
    def parse(cls, texts: Iterable[str], *, usual: bool = True) -> Servers:
        """Return the servers of the options ``NAME=MANIFEST``; raise ValueError, or ManifestError for a manifest.

        A manifest is a file, ``ready:NAME``, or the bare name of a ready manifest.
        """
        named: dict[str, Manifest] = {}
        for text in texts:
            name, equals, source = text.partition("=")
            if not (name and equals and source):
                raise ValueError(f"{text!r} is not NAME=MANIFEST, such as playwright=playwright-mcp")
            if any(_key(name) == _key(each) for each in named):
                raise ValueError(
                    f"the server {name!r} is given twice, or in two spellings that a client cannot tell"
                )
            named[name] = _manifest(source)
        return cls(MappingProxyType(named), usual)

    def load(self, *, needed: bool = True) -> Servers:
        """Read the manifests of the usual names now if they are ``needed``, which takes a second; return this."""
        if needed and self.usual:
            for family in USUAL_NAMES.values():
                ready_manifest(family)
        return self

    def find(self, readings: Iterable[Named]) -> Found:
        """Return what one of ``readings`` means; raise CodedError (TOOL_UNKNOWN) where they mean different servers.

        The operator's names come before the usual ones. Where a product says no server, the tool's name chooses among
        the operator's: a name such as ``click`` proves nothing of a server that may not be there.
        """
        every = [*readings]
        spelled = [each for each in every if each.server is not None]
        for meant, some in ((self._named_as, every), (_usual_as, spelled if self.usual else [])):
            found = {
                (manifest.digest, each.tool): Found(each.tool, manifest)
                for each in some
                for manifest in meant(each)
            }
            if len(found) > 1:
                raise CodedError(
                    Code.TOOL_UNKNOWN,
                    "Several servers may be meant by the name of the tool; name one with --server.",
                    repair=Repair(field="/tool"),
                )
            if found:
                return next(iter(found.values()))
        return Found(every[0].tool, None)

    def _named_as(self, reading: Named) -> list[Manifest]:
        if reading.server is None:
            return [each for each in self.named.values() if each.tool(reading.tool) is not None]
        return [each for name, each in self.named.items() if _is_spelling(reading, name)]


def _usual_as(reading: Named) -> list[Manifest]:
    families = {family for name, family in USUAL_NAMES.items() if _is_spelling(reading, name)}
    return [ready_manifest(each) for each in sorted(families)]


def _is_spelling(reading: Named, name: str) -> bool:
    if reading.server is None:
        return False
    return (_cut(name) if reading.is_cut else _key(name)) == _key(reading.server)


def _key(name: str) -> str:
    """Return a server's name as it can be in the names of tools: clients replace the other characters."""
    return _OTHER.sub("_", name.lower())


def _cut(name: str) -> str:
    return _key(re.sub(r"[^a-z0-9_.-]+", "_", name.lower())[:VSCODE_LETTERS])


def _manifest(source: str) -> Manifest:
    if source.startswith(SCHEME) or _READY.fullmatch(source):
        name = source.removeprefix(SCHEME)
        with suppress(KeyError):
            return ready_manifest(name)
        return load_ready(name)
    return load_manifest(source)
