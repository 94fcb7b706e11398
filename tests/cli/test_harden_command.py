"""``evalward harden``: the program to run instead of a payload, whatever the verdict on it is."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from command_line import run

from evalward import prepare_runtime

if TYPE_CHECKING:
    from pathlib import Path

NODE = shutil.which("node")
EXPRESSION = ("--target", "main", "--shape", "expression")
PRINTED = "(()=>{return()=>{var h_1;h_1=h_v(h_v(document).title);return h_end(h_1);};})()()\n"
READABLE = ("--no-prelude", "--readable")


@pytest.mark.parametrize("source", ["-e", "file", "stdin"])
def test_the_payload_comes_from_the_command_line_a_file_or_standard_input(
    source: str, tmp_path: Path
) -> None:
    file = tmp_path / "payload.js"
    file.write_bytes(b"document.title")
    payload = {"-e": ("-e", "document.title"), "file": (str(file),), "stdin": ("-",)}[source]

    done = run("harden", *payload, "--sink", "playwright.evaluate", *READABLE, stdin=b"document.title")

    assert (done.returncode, done.stdout) == (0, PRINTED)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("with (a) b", "The payload uses a with statement. (line 1, column 1)"),
        ("1;\n eval('1')", "The payload calls eval. (line 2, column 2)"),
        ("a b", "The payload does not parse in its shape. (line 1, column 1)"),
    ],
)
def test_a_payload_without_a_program_ends_with_the_reason_and_its_place(code: str, message: str) -> None:
    done = run("harden", "-e", code, "--shape", "script")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"EVAL_NOT_HARDENABLE: {message}\n"


@pytest.mark.parametrize(
    "code", ["process.exit(1)", "globalThis['ev' + 'al']('1')", "require('child_process').exec('id')"]
)
def test_a_blocked_payload_has_a_program_too(code: str) -> None:
    assert run("check", "-e", code, *EXPRESSION).returncode == 1

    done = run("harden", "-e", code, *EXPRESSION)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert len(done.stdout) > 10_000


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize(
    ("code", "printed"),
    [("[3, 4].map((n) => n * 2).join()", "6,8"), ("process.exit(7)", "evalward denied process.exit")],
)
@pytest.mark.parametrize("flags", [(), ("--readable",)], ids=["random names", "short names"])
def test_the_printed_program_runs(code: str, printed: str, flags: tuple[str, ...]) -> None:
    program = run("harden", "-e", code, *EXPRESSION, *flags).stdout
    script = (
        "let out; try { out = (0, eval)(require('fs').readFileSync(0, 'utf8')) } catch (e) { out = e.message }"
        "console.log(out)"
    )

    done = subprocess.run(
        [str(NODE), "-e", script], input=program, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.split(":")[0].strip()) == (0, printed)


def test_two_programs_of_one_payload_have_no_name_in_common() -> None:
    first, second = (run("harden", "-e", "document.title", *EXPRESSION).stdout for _ in range(2))

    assert first != second
    assert len(first) == len(second)


def test_the_run_time_is_left_out_and_names_are_short_where_asked() -> None:
    whole = run("harden", "-e", "document.title", *EXPRESSION, "--readable").stdout
    body = run("harden", "-e", "document.title", *EXPRESSION, *READABLE).stdout

    assert body == "(()=>{return()=>{return h_end(h_v(h_v(document).title));};})()()\n"
    assert len(whole) > 10_000
    assert "h_v" in whole


def test_a_short_name_that_the_payload_contains_is_not_taken() -> None:
    done = run("harden", "-e", "h_ + h0_", *EXPRESSION, *READABLE)

    assert (done.returncode, done.stdout.startswith("(()=>{return()=>{return h1_end(")) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("-e", "1"), 2, "--shape"),
        (("--shape", "script"), 2, "-e CODE"),
        (("-e", "1", "--sink", "playwright.evaluat"), 2, "playwright.evaluate"),
        (("-e", "1", "--sink", "playwright.evaluate", "--shape", "script"), 2, "shape"),
        (("-e", "1", "--shape", "script", "--bind", "page=no.such"), 2, "no.such"),
        (("-e", "1", "--shape", "script", "--policy", "no-such-policy.yaml"), 3, "POLICY_INVALID"),
    ],
)
def test_what_cannot_be_asked(arguments: tuple[str, ...], status: int, told: str) -> None:
    done = run("harden", *arguments)

    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr


def test_what_a_policy_binds_is_bound_in_the_program(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "api_version: evalward/v1\ntargets: {node: {allowed: true, bindings: {tab: playwright.page}}}\n"
    )

    done = run(
        "harden", "-e", "tab", "--target", "node", "--shape", "expression", "--policy", str(policy), *READABLE
    )

    assert (done.returncode, 'h_b(tab,"tab")' in done.stdout) == (0, True)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_program_for_a_prepared_page_is_short(tmp_path: Path, *, in_file: bool) -> None:
    key = prepare_runtime("renderer").key
    file = tmp_path / "key"
    file.write_text(f"{key}\n")

    done = run(
        "harden",
        "-e",
        "document.title",
        "--sink",
        "playwright.evaluate",
        "--prepared",
        str(file) if in_file else key,
    )

    assert done.returncode == 0
    assert len(done.stdout) < 4096
    assert key.split(".")[1] in done.stdout


def test_a_malformed_key_is_not_repeated() -> None:
    key = f"{prepare_runtime('renderer').key}0"

    done = run("harden", "-e", "1", "--sink", "playwright.evaluate", "--prepared", key)

    assert (done.returncode, done.stdout) == (2, "")
    assert key not in done.stderr
