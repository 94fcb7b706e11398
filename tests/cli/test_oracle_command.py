"""``evalward oracle``: the reached capabilities, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from typer.testing import CliRunner

from evalward.cli.oracle import oracle

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str, stdin: str | None = None) -> Any:
    app = typer.Typer()
    app.command()(oracle)
    return CliRunner().invoke(app, [*arguments, "--target", "sandbox"], input=stdin)


def test_json_lists_capabilities_and_engines() -> None:
    answer = run("-e", "[].at.constructor('return process')().exit()", "--json")
    assert answer.exit_code == 1
    report = json.loads(answer.stdout)
    assert {"codegen", "process"} <= set(report["reached"])
    assert report["seen_by"]["codegen"] == ["quickjs"]
    assert {run["shape"] for run in report["runs"]} == {"script", "expression", "async_body", "function"}


def test_text_says_what_was_reached(tmp_path: Path) -> None:
    payload = tmp_path / "payload.js"
    payload.write_text("process['ki' + 'll'](1)", encoding="utf-8")
    answer = run(str(payload), "--shape", "script")
    assert (answer.exit_code, answer.stdout) == (1, "reached process (seen by quickjs)\n")


def test_nothing_reached() -> None:
    answer = run("-", "--shape", "script", stdin="1 + 1")
    assert (answer.exit_code, answer.stdout) == (0, "nothing reached\n")


def test_usage() -> None:
    assert run().exit_code == 2
    assert run("/no/such/file.js").exit_code == 2
