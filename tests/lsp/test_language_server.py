"""``evalward lsp`` with the client of the protocol's library, over its standard input and output."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pygls", reason="evalward[lsp] is not installed")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SCRIPT = "// 𐐀 is one code point\nconst 𐐀 = 'exit'; process[𐐀](0)\n"
CORPUS = """\
- {id: fine, code: "document.title", target: renderer, expect: allow}
- id: wrong
  code: |
    const k = 'exit';
    process[k](0)
  target: main
  expect: allow
- id: missed
  code: 'document.title'
  target: renderer
  expect: block
- id: expected
  code: process['exit'](0)
  target: main
  expect: block
  construct: process.exit
- id: other
  code: process['exit'](0)
  target: main
  expect: block
  construct: eval()
- {id: fine, code: "1", target: main, expect: allow}
- {id: broken, code: "1", target: mian, expect: allow}
"""


class Editor:
    """A client that keeps the diagnostics of each document."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self._arrived: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def published(parameters: types.PublishDiagnosticsParams) -> None:
            self._arrived.put_nowait(parameters)

    async def open(self, uri: str, text: str) -> list[types.Diagnostic]:
        document = types.TextDocumentItem(uri, "any", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return await self.diagnostics(uri)

    async def change(self, uri: str, version: int, text: str) -> list[types.Diagnostic]:
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version, uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return await self.diagnostics(uri)

    async def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        arrived = await asyncio.wait_for(self._arrived.get(), 60)
        assert arrived.uri == uri
        return [*arrived.diagnostics]

    async def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        return await self.client.text_document_hover_async(place)


def with_editor(use: Callable[[Editor], Awaitable[None]], *options: str) -> None:
    async def talk() -> None:
        client = LanguageClient("editor", "1")
        editor = Editor(client)
        await client.start_io(sys.executable, "-m", "evalward", "lsp", "--stdio", *options)
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        client.initialized(types.InitializedParams())
        await use(editor)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]

    asyncio.run(talk())


def text_of(text: str, place: types.Range) -> str:
    """Return the marked text of one line; positions count UTF-16 code units."""
    assert place.start.line == place.end.line
    line = text.split("\n")[place.start.line].encode("utf-16-le")
    return line[2 * place.start.character : 2 * place.end.character].decode("utf-16-le")


def test_a_finding_is_underlined_with_the_way_to_it_and_explained() -> None:
    async def use(editor: Editor) -> None:
        uri = "file:///payload.js"
        (found,) = await editor.open(uri, SCRIPT)
        assert (found.code, found.severity, found.source) == (
            "process.exit",
            types.DiagnosticSeverity.Error,
            "evalward",
        )
        assert text_of(SCRIPT, found.range) == "process[𐐀](0)"
        assert [text_of(SCRIPT, each.location.range) for each in found.related_information or []] != []
        shown = await editor.hover(uri, found.range.start.line, found.range.start.character + 1)
        assert shown is not None
        contents: Any = shown.contents
        assert contents.kind == types.MarkupKind.Markdown
        assert contents.value.startswith("**`process.exit`**")
        assert await editor.hover(uri, 0, 0) is None
        assert await editor.change(uri, 2, "document.title") == []
        (broken,) = await editor.change(uri, 3, "((")
        assert broken.code == "EVAL_SYNTAX_ERROR"

    with_editor(use)


def test_cases_of_a_corpus_are_judged_where_they_are() -> None:
    async def use(editor: Editor) -> None:
        found = await editor.open("file:///cases.yaml", CORPUS)
        by_line = {each.range.start.line: each for each in found}
        assert text_of(CORPUS, by_line[4].range) == "process[k](0)"
        assert (by_line[4].code, by_line[4].severity) == ("process.exit", types.DiagnosticSeverity.Error)
        assert (by_line[8].code, text_of(CORPUS, by_line[8].range)) == ("missed", "'document.title'")
        assert by_line[12].severity is types.DiagnosticSeverity.Hint
        assert text_of(CORPUS, by_line[12].range) == "process['exit'](0)"
        assert "expected eval()" in by_line[17].message
        assert "already used" in by_line[21].message
        assert "mian" in by_line[22].message or "target" in by_line[22].message
        assert len(found) == 6
        assert await editor.change("file:///cases.yaml", 2, "- {just: data}") == []
        assert await editor.change("file:///cases.yaml", 3, "a: [") == []

    with_editor(use)


def test_the_options_are_those_of_the_payloads() -> None:
    async def use(editor: Editor) -> None:
        assert await editor.open("file:///a.js", "fetch('/x')") == []
        (found,) = await editor.open("file:///b.js", "document.body.innerHTML = location.hash")
        assert found.code == "dom-script-injection"

    with_editor(use, "--sink", "playwright.evaluate", "--profile", "strict")
