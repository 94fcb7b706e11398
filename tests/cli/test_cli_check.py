"""``evalward check``: exit codes, both formats, every source of a payload, policies."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

RUNNER = CliRunner()
VERDICTS = [
    (["-e", "process['exit'](0)", "--target", "main"], "process.exit"),
    (["-e", "globalThis['pro'+'cess']['ex'+'it']()"], "process.exit"),
    (["-e", "{}/process['ex'+'it'](0)/g", "--shape", "expression"], "process.exit"),
    (["-e", "page.waitForFunction(f)", "--target", "node"], None),
    (["-e", "() => document.title", "--target", "page"], None),
    (["-e", "arg.constructor?.name", "--target", "renderer"], None),
    (["-e", "globalThis['pro'+'cess']['ex'+'it']()", "--profile", "seed"], None),
    (["-e", "const f = Function; f('1')()", "--profile", "seed"], None),
    # Names that no label can have; a lone surrogate is not even JSON.
    (["-e", "process['<b>']()"], "process.<member>"),
    (["-e", "process['\\ud800']()"], "process.<member>"),
    (["-e", "process[`a b`.repeat(9)].x"], "process.<member>"),
    (["-e", "theApp['ex' + 'it'](0)", "--bind", "theApp=electron.app"], "electron-lifecycle"),
]
USAGE = [
    [],
    ["-e", "1", "file.js"],
    ["no-such-file.js"],
    ["-e", "1", "--target", "mian"],
    ["-e", "1", "--shape", "lambda"],
    ["-e", "1", "--profile", "lax"],
    ["-e", "1", "--format", "xml"],
    ["-e", "1", "--bind", "page"],
    ["-e", "1", "--bind", "process=json"],
    ["-e", "1", "--max-bytes", "0"],
    ["-e", "1", "--unknown"],
]


def check(*arguments: str, stdin: bytes | None = None) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the envelope."""
    result = RUNNER.invoke(app, ["check", *arguments, "--format", "json"], input=stdin)
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize(("arguments", "construct"), VERDICTS)
def test_the_exit_code_is_the_verdict(arguments: list[str], construct: str | None) -> None:
    exit_code, envelope = check(*arguments)

    assert envelope.get("details", {}).get("construct") == construct
    assert (exit_code, envelope["ok"]) == ((1, False) if construct else (0, True))


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_a_usage_error_exits_with_2(arguments: list[str]) -> None:
    result = RUNNER.invoke(app, ["check", *arguments])

    assert (result.exit_code, result.stdout) == (2, "")


def test_a_usage_error_lists_the_allowed_targets() -> None:
    result = RUNNER.invoke(app, ["check", "-e", "1", "--target", "mian"])

    assert [
        name for name in ("main", "renderer", "node", "sandbox", "page") if name not in result.stderr
    ] == []


def test_file_argument_and_standard_input_are_the_same_payload(tmp_path: Path) -> None:
    file = tmp_path / "payload.js"
    file.write_bytes(b"'\xc3\xa9'")

    hashes = {
        check(str(file))[1]["code_hash"],
        check("-", stdin=b"'\xc3\xa9'")[1]["code_hash"],
        check("-e", "'é'")[1]["code_hash"],
    }

    assert len(hashes) == 1


def test_bytes_that_are_not_utf8_are_judged_and_not_decoded() -> None:
    exit_code, envelope = check("-", stdin=b"\xff")

    assert (exit_code, envelope["code"]) == (1, "EVAL_BAD_ENCODING")


def test_the_size_limit_can_be_raised_and_lowered() -> None:
    payload = b"1;" * 70_000

    assert check("-", stdin=payload)[1]["code"] == "EVAL_PAYLOAD_TOO_LARGE"
    assert check("-", "--max-bytes", "10", stdin=b"1234567890+1")[1]["details"]["limit_value"] == 10
    assert check("-", "--max-bytes", "1000000", "--profile", "seed", stdin=payload)[0] == 0


def test_without_a_policy_the_named_target_is_opted_in_and_with_one_the_policy_decides(
    tmp_path: Path,
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n", encoding="utf-8")

    renderer = check("-e", "1", "--policy", str(policy), "--target", "renderer")
    main = check("-e", "1", "--policy", str(policy), "--target", "main")

    assert (renderer[0], main[0], main[1]["code"]) == (0, 1, "EVAL_TARGET_DENIED")


def test_a_policy_that_is_not_valid_is_infrastructure(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\nprofil: strict\n", encoding="utf-8")

    result = RUNNER.invoke(app, ["check", "-e", "1", "--policy", str(policy), "--format", "json"])

    envelope = json.loads(result.stdout)
    assert (result.exit_code, envelope["code"]) == (3, "POLICY_INVALID")
    assert "profil" in result.stderr


def test_json_is_one_canonical_line() -> None:
    result = RUNNER.invoke(app, ["check", "-e", "1"])

    line = result.stdout
    assert (
        line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    )


def test_text_shows_line_caret_trace_and_hint() -> None:
    code = "let a = 1;\nconst k = 'ex' + 'it';\nprocess[k](a)"

    result = RUNNER.invoke(app, ["check", "-e", code, "--format", "text"])

    lines = result.stdout.splitlines()
    source = lines.index(" 3 | process[k](a)")
    assert lines[0] == "blocked  EVAL_BLOCKED_CONSTRUCT  process.exit"
    assert lines[source + 1].startswith("   | ^")
    assert lines[source + 2].startswith("   = ")
    assert [
        start for start in ("hint: ", "next: ", "sha256: ") if not any(x.startswith(start) for x in lines)
    ] == []


def test_text_of_an_allowed_payload_says_so() -> None:
    result = RUNNER.invoke(app, ["check", "-e", "1 + 1", "--format", "text"])

    assert result.stdout.splitlines()[0] == "allowed  target main, shape any, profile balanced"


def test_no_control_character_of_the_payload_reaches_the_terminal() -> None:
    code = "'\x1b]0;owned\x07\u202e\x9b31m'; process['exit'](0)"

    result = RUNNER.invoke(app, ["check", "-e", code, "--format", "text"])

    assert "owned" in result.stdout
    assert [char for char in result.stdout if not char.isprintable() and char != "\n"] == []


@pytest.mark.exhaustive
def test_the_installed_command_answers_with_its_exit_code() -> None:
    command = [sys.executable, "-c", "from evalward.cli.app import main; main()", "check"]

    codes = [
        subprocess.run([*command, *arguments], capture_output=True, check=False).returncode
        for arguments in (["-e", "1"], ["-e", "process['exit'](0)"], ["-e"])
    ]

    assert codes == [0, 1, 2]
