"""ValidateCall for a tool that declares its texts to be TypeScript: judged as what its compiler leaves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from evalward.guard import judge
from evalward.tools import parse_manifest
from evalward.v1 import evalward_pb2 as pb

SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}}
TOOL = {"name": "run", "operation_type": "eval", "sink": "playwright.evaluate", "input_schema": SCHEMA}
Ask = Callable[[str], pb.ValidateCallResponse]


@pytest.fixture
def ask(start: Callable[..., Any]) -> Ask:
    tools = [{**TOOL, "language": "typescript"}]
    running = start(
        judge, manifest=parse_manifest({"api_version": "evalward/v1", "tools": tools}, source="t.yaml")
    )

    def call(code: str) -> pb.ValidateCallResponse:
        arguments = json.dumps({"code": code}).encode()
        response: pb.ValidateCallResponse = running.stub.ValidateCall(
            pb.ValidateCallRequest(tool="run", arguments_json=arguments)
        )
        return response

    return call


def test_types_do_not_matter(ask: Ask) -> None:
    code = "(x: number): string => (document as any).title as string"

    response = ask(code)

    assert response.WhichOneof("outcome") == "allowed"
    assert [(each.path, each.sha256) for each in response.fields] == [
        ("/code", hashlib.sha256(code.encode()).hexdigest())
    ]


def test_what_runs_is_judged_and_found_at_its_place(ask: Ask) -> None:
    code = "() => (window as any)['ev' + 'al']('1')"

    response = ask(code)

    assert (response.error.code, response.failed_path) == ("EVAL_BLOCKED_CONSTRUCT", "/code")
    start = json.loads(response.envelope)["details"]["location"]["start"]
    assert code[start:].startswith("(window as any)['ev' + 'al'](")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("enum A { B }", "an enumeration is a value; use an object (line 1, column 1)"),
        ("let a = 1;\nlet b = <any>a", "(line 2, column 9)"),
        ("const f = a as T\n(c)", "the next line could continue this one"),
        ("let x: = 1", "the text does not parse as TypeScript"),
    ],
)
def test_what_is_not_stripped_without_a_doubt_is_denied(ask: Ask, code: str, why: str) -> None:
    response = ask(code)

    assert response.error.code == "EVAL_SYNTAX_ERROR"
    assert why in response.error.message
    assert response.failed_path == "/code"


def test_a_text_that_the_guard_refuses_is_not_stripped(ask: Ask) -> None:
    assert ask("a as T\0").error.code == "EVAL_BAD_ENCODING"
    assert ask("a as T;" * 20_000).error.code == "EVAL_PAYLOAD_TOO_LARGE"
