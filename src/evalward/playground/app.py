"""The ASGI application: the page's files, and answers to its questions as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from evalward.construct_pages import as_document
from evalward.corpus.corpus_case import CorpusError
from evalward.errors import CodedError
from evalward.guard.binding import BindingKind
from evalward.guard.sinks import sinks
from evalward.guard.target import Profile, Shape, Target
from evalward.playground.access import OwnPageOnly
from evalward.playground.policy_view import Effect, policy_view
from evalward.playground.program_view import hardened_view, oracle_view, sandbox_view
from evalward.playground.question import MAX_TEXT, Question, policy_of
from evalward.playground.snippets import case_text, snippets
from evalward.playground.verdict_view import verdict_view
from evalward.policy import Policy, PolicyError
from evalward.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from evalward.corpus.corpus_case import Case
    from evalward.playground.log_view import LogView

FILES: Final = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "LICENSES.txt": "text/plain; charset=utf-8",
}
_MOST_BYTES: Final = 6 * MAX_TEXT
_SHOWN: Final = 100


class Playground:
    """What the page works on: the starting policy and its text, a corpus, and a log, which may be absent."""

    def __init__(
        self,
        *,
        version: str,
        policy: Policy | None = None,
        policy_text: str = "",
        cases: Sequence[Case] = (),
        log: LogView | None = None,
    ) -> None:
        self.policy = policy or Policy.default().allowing(Target)
        self._version = version
        self._policy_text = policy_text
        self._cases = {case.id: case for case in cases}
        self._effect = Effect(cases, self.policy)
        self._log = log

    def about(self) -> dict[str, Any]:
        """Return what the page needs to know at its start."""
        return {
            "version": self._version,
            "sinks": [
                {"id": sink.id, "target": str(sink.target), "what": sink.summary} for sink in sinks().values()
            ],
            "targets": [*Target],
            "shapes": [*Shape],
            "profiles": [*Profile],
            "kinds": [*BindingKind],
            "policy": self._policy_text,
            "policy_schema": Policy.model_json_schema(),
            "constructs": as_document()["constructs"],
            "cases": [{"id": case.id, "target": str(case.target)} for case in self._cases.values()],
            "log": self._log is not None,
        }

    def case(self, name: str) -> dict[str, Any]:
        """Return a case to open it; raise KeyError."""
        found = self._cases[name]
        expect = found.expect if isinstance(found.expect, dict) else {"all": found.expect}
        return {
            "id": found.id,
            "code": found.code,
            "target": str(found.target),
            "sink": found.sink,
            "shape": found.shape and str(found.shape),
            "bindings": {name: str(kind) for name, kind in found.bindings.items()},
            "expect": {str(name): str(verdict) for name, verdict in expect.items()},
            "reaches": found.reaches,
            "twin": found.twin,
            "technique": found.technique,
        }

    def log(self) -> dict[str, Any]:
        """Return the log's figures; raise KeyError without a log."""
        if self._log is None:
            raise KeyError("log")
        return self._log.as_object(datetime.now(UTC))

    def effect(self, policy: str) -> Iterator[bytes]:
        """Yield the effect of a policy on the corpus, one JSON object a line; raise PolicyError."""
        return (json.dumps(each).encode() + b"\n" for each in self._effect.changes(policy_of(policy)))


def playground_app(playground: Playground, *, token: str, nonce: str) -> ASGIApp:
    """Return the application for the page at ``/TOKEN/``; ``nonce`` is that of the style sheets of the editor."""
    start = playground.policy
    static = files("evalward.playground").joinpath("static")
    index = static.joinpath("index.html").read_text("utf-8").replace("{{nonce}}", nonce)

    async def page(_: Request) -> Response:
        return Response(index, media_type="text/html")

    def file(name: str, kind: str) -> Route:
        content = static.joinpath(name).read_bytes()

        async def answer(_: Request) -> Response:
            return Response(content, headers={"content-type": kind})

        return Route(f"/{name}", answer)

    routes = [
        Route("/", page),
        *(file(name, kind) for name, kind in FILES.items()),
        _told("about", lambda _: playground.about()),
        _told("log", lambda _: playground.log()),
        _asked("case", lambda given: playground.case(_text(given, "id"))),
        _asked("judge", lambda given: verdict_view(_question(given), start)),
        _asked("policy", lambda given: policy_view(_text(given, "policy"))),
        _asked("harden", lambda given: hardened_view(_question(given), start)),
        _asked("run", lambda given: sandbox_view(_question(given), start)),
        _asked("oracle", lambda given: oracle_view(_question(given))),
        _asked("snippets", lambda given: snippets(_question(given))),
        _asked("as-case", lambda given: {"text": _as_case(given, start)}),
        _asked("effect", lambda given: playground.effect(_text(given, "policy"))),
    ]
    return OwnPageOnly(Starlette(routes=routes), token=token, nonce=nonce)


def _told(name: str, answer: Callable[[Any], Any]) -> Route:
    async def respond(_: Request) -> Response:
        return await _answered(answer, None)

    return Route(f"/api/{name}", respond)


def _asked(name: str, answer: Callable[[Any], Any]) -> Route:
    async def respond(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return _failure(413, "the request is too large")
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            return _failure(400, "the request is not JSON")
        return await _answered(answer, given)

    return Route(f"/api/{name}", respond, methods=["POST"])


async def _answered(answer: Callable[[Any], Any], given: Any) -> Response:
    try:
        found = await run_in_threadpool(answer, given)
    except ValidationError as error:
        return _failure(400, "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()))
    except PolicyError as refusal:
        return _failure(200, f"the policy is not valid: {refusal.issues[0]}")
    except (CodedError, CorpusError) as refused:
        return _failure(200, getattr(refused, "message", None) or str(refused))
    except KeyError:
        return _failure(404, "there is no such case or log")
    if isinstance(found, dict):
        return JSONResponse(found)
    return StreamingResponse(found, media_type="application/x-ndjson")


def _failure(status: int, message: str) -> Response:
    # What a user may type is refused with 200: a browser reports any other status as an error of the page.
    return JSONResponse({"error": printable(message)}, status)


def _question(given: Any) -> Question:
    return Question.model_validate(given)


def _text(given: Any, name: str) -> str:
    value = given.get(name) if isinstance(given, dict) else None
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise CorpusError(f"{name} must be text")
    return value


def _as_case(given: Any, start: Policy) -> str:
    name, question = _text(given, "id"), _question(given.get("question"))
    return case_text(question, name, verdict_view(question, start))
