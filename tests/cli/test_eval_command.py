"""``evalward eval``: the guard first, then the sandbox, in the shape that was judged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app


def evaluate(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["eval", *arguments], input=stdin)
    return done.exit_code, done.stdout, done.stderr


def envelope(*arguments: str) -> tuple[int, dict[str, Any]]:
    status, out, _ = evaluate(*arguments, "--json")
    return status, json.loads(out)


@pytest.mark.parametrize(
    ("arguments", "status", "out"),
    [
        (["-e", "1 + 1"], 0, "2\n"),
        (["-e", "(a) => a.x * 2", "--arg", '{"x": 4}'], 0, "8\n"),
        (["-e", "return await Promise.resolve('é')"], 0, '"é"\n'),
        (["-e", "undefined"], 0, "undefined\n"),
        (["-e", "[].at.constructor('return 1')()"], 1, ""),
        (["-e", "null.x"], 1, ""),
        (["-e", "1", "--arg", "{"], 2, ""),
        (["-e", "1", "--shape", "module"], 2, ""),
        (["-e", "1", "--deadline-ms", "6000"], 2, ""),
        ([], 2, ""),
    ],
)
def test_exit_status_and_output(arguments: list[str], status: int, out: str) -> None:
    assert (status, out) == evaluate(*arguments)[:2]


def test_standard_input() -> None:
    assert evaluate("-", stdin="2 + 3")[:2] == (0, "5\n")


def test_envelope_of_a_result() -> None:
    status, body = envelope("-e", "console.log('hi'); ({a: 1})")
    assert status == 0
    assert body["ok"] is True
    assert body["result_json"] == '{"a":1}'
    assert body["console"] == [{"level": "log", "text": "hi"}]
    assert (body["target"], body["shape"]) == ("sandbox", "script")
    assert body["usage"]["fuel"] > 0
    assert len(body["code_hash"]) == 64
    assert body["_meta"]["provenance"]["ruleset_digest"]


@pytest.mark.parametrize(
    ("arguments", "code", "limit"),
    [
        (["-e", "throw new RangeError('no')"], "EVAL_RUNTIME_ERROR", None),
        (["-e", "for (;;);"], "EVAL_FUEL_EXHAUSTED", "fuel"),
        (["-e", "for (;;);", "--fuel", "4000000000", "--deadline-ms", "20"], "EVAL_TIMEOUT", "deadline_ms"),
        (["-e", "let s = 'x'; for (;;) s += s"], "EVAL_MEMORY_LIMIT", "memory_bytes"),
        (["-e", "(function f() { f() })()"], "EVAL_STACK_LIMIT", "stack_bytes"),
        (["-e", "new Promise(() => {})"], "EVAL_UNSETTLED", None),
    ],
)
def test_envelope_of_a_failure(arguments: list[str], code: str, limit: str | None) -> None:
    status, body = envelope(*arguments)
    assert (status, body["ok"], body["code"]) == (1, False, code)
    assert body["details"].get("limit") == limit
    assert body["details"]["code_hash"]


def test_what_is_blocked_does_not_run() -> None:
    status, body = envelope("-e", "console.log('ran'); [].at.constructor('return 1')()")
    assert (status, body["code"]) == (1, "EVAL_BLOCKED_CONSTRUCT")
    assert "console" not in body.get("details", {})
