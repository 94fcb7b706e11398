"""The language server: documents of an editor in, diagnostics and hovers out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from evalward.lsp.corpus_problems import problems_of_corpus
from evalward.lsp.hover import hover
from evalward.lsp.positions import Place
from evalward.lsp.problems import problems_of_payload

if TYPE_CHECKING:
    from evalward.lsp.positions import Span
    from evalward.lsp.problems import Frame, Problem

SOURCE: Final = "evalward"
_CORPUS: Final = (".yaml", ".yml")


def language_server(frame: Frame, version: str) -> LanguageServer:
    """Return a server that judges scripts as payloads in ``frame``, and YAML files that are lists of cases."""
    server = LanguageServer(SOURCE, version, types.TextDocumentSyncKind.Incremental)
    found: dict[str, tuple[Problem, ...]] = {}

    def judge(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        problems: tuple[Problem, ...] | None
        if uri.endswith(_CORPUS):
            problems = problems_of_corpus(document.source, frame)
        else:
            problems = problems_of_payload(document.source, frame)
        found[uri] = problems or ()
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri, [_diagnostic(each, uri) for each in found[uri]], version=document.version
            )
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        judge(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(parameters: types.DidChangeTextDocumentParams) -> None:
        judge(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        found.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(parameters: types.HoverParams) -> types.Hover | None:
        place = Place(parameters.position.line, parameters.position.character)
        here = [each for each in found.get(parameters.text_document.uri, ()) if each.span.contains(place)]
        for problem in sorted(here, key=lambda each: each.span.begin, reverse=True):
            if page := hover(problem.code):
                contents = types.MarkupContent(types.MarkupKind.Markdown, page)
                return types.Hover(contents, _range(problem.span))
        return None

    return server


def _diagnostic(problem: Problem, uri: str) -> types.Diagnostic:
    return types.Diagnostic(
        _range(problem.span),
        problem.message,
        severity=types.DiagnosticSeverity(problem.severity),
        code=problem.code,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(types.Location(uri, _range(span)), note)
            for span, note in problem.steps
        ],
    )


def _range(span: Span) -> types.Range:
    return types.Range(types.Position(*span.begin), types.Position(*span.end))
