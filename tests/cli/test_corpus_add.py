"""``evalward corpus add``: only cases that the oracle confirms are written."""

import json
import subprocess
from pathlib import Path

import command_line
import pytest

from evalward.corpus.corpus_case import load_cases

ESCAPE = "(()=>1).constructor('return 1')()"


def add(file: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    return run(file, "--target", "sandbox", *arguments, stdin=stdin)


def run(file: Path, *arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    return command_line.run("corpus", "add", str(file), *arguments, stdin=stdin)


def words(shown: str) -> str:
    """Return the text of a box on the terminal as one line, since a long path wraps anywhere."""
    return " ".join(shown.replace("│", " ").split())


def test_confirmed_cases_are_appended_and_can_be_run(tmp_path: Path) -> None:
    file = tmp_path / "made" / "if" / "need" / "be.yaml"

    first = add(file, "-e", ESCAPE, "--id", "made/function", "--expect", "block", "--twin", "plain")
    second = add(file, "-", "--id", "plain", "--expect", "allow", stdin=b"'a\\u2028b'.length")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    escape, benign = load_cases([file])
    assert (escape.code, escape.twin, escape.expect) == (ESCAPE, "plain", "block")
    assert escape.reaches is not None
    assert first.stdout == f"added made/function: reaches {escape.reaches}, seen by quickjs\n"
    assert (benign.code, benign.reaches) == ("'a\\u2028b'.length", None)
    ran = command_line.run("corpus", "run", str(file), "--json")
    assert json.loads(ran.stdout)["escapes"]["blocked"] == 1


def test_a_case_can_name_its_sink_which_gives_the_target(tmp_path: Path) -> None:
    file = tmp_path / "sinks.yaml"
    shared = ["--sink", "node.function", "--id"]

    escape = run(file, "-e", f"return {ESCAPE}", *shared, "escape", "--expect", "block")
    benign = run(file, "-e", "return 1 + 1", *shared, "benign", "--expect", "allow", "--target", "node")

    assert (escape.returncode, benign.returncode) == (0, 0), escape.stderr + benign.stderr
    assert [(case.sink, case.target, case.shape) for case in load_cases([file])] == [
        ("node.function", "node", None),
        ("node.function", "node", None),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--sink", "node.functoin"), "node.function"),
        (("--sink", "node.function", "--target", "renderer"), "node.function"),
        (("--sink", "node.function", "--shape", "script"), "node.function"),
    ],
)
def test_an_unknown_or_contradicted_sink_is_a_usage_error(
    arguments: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    file = tmp_path / "sinks.yaml"

    done = run(file, "-e", "return 1", "--id", "a", "--expect", "allow", *arguments)

    assert done.returncode == 2
    assert says in words(done.stderr)
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("-e", "1+1", "--id", "a", "--expect", "block"), 1, "the payload reaches nothing"),
        (("-e", ESCAPE, "--id", "a", "--expect", "allow"), 1, "not added: reaches"),
        (("-e", ESCAPE, "--id", "a", "--expect", "block", "--reaches", "process"), 1, "not added"),
        (("-e", "1", "--id", "known", "--expect", "allow"), 2, "has a case known already"),
        (("-e", "1", "--expect", "allow"), 2, "--id"),
        (("--id", "a", "--expect", "allow"), 2, "-e CODE"),
    ],
)
def test_what_is_not_borne_out_changes_nothing(
    arguments: tuple[str, ...], code: int, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("- {id: known, code: '1', target: sandbox, expect: allow}\n")
    before = file.read_bytes()

    done = add(file, *arguments)

    assert done.returncode == code, done.stderr
    assert says in words(done.stderr)
    assert file.read_bytes() == before


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").write_bytes(b"")
    file = tmp_path / "folder.yaml" / "mine.yaml"

    done = add(file, "-e", "1 + 1", "--id", "plain", "--expect", "allow")

    assert done.returncode == 2
    assert "internal error" not in done.stderr
    assert "cannot be written" in words(done.stderr)
