"""``evalward check`` on files, directories, patterns, and texts inside JSON documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from command_line import run

if TYPE_CHECKING:
    from pathlib import Path

ESCAPE = "process['ex' + 'it'](0)"
FILES = {
    "title.js": "document.title",
    "exit.js": ESCAPE,
    "steps/two.mjs": "eval('1')",
    "steps/notes.txt": ESCAPE,
    "node_modules/dependency.js": ESCAPE,
    ".hidden/file.js": ESCAPE,
    "calls.jsonl": "\n".join(
        json.dumps({"name": "run", "arguments": {"code": code}}) for code in ("1 + 1", ESCAPE)
    ),
    "call.json": json.dumps({"steps": [{"code": "1"}, {"code": ESCAPE}, {"note": ESCAPE}]}, indent=1),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    done = run("check", *arguments, "--format", "json")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (["."], ["exit.js", "steps/two.mjs", "title.js"]),
        (["steps"], ["steps/two.mjs"]),
        (["**/*.js"], ["exit.js", "node_modules/dependency.js", "title.js"]),
        (["title.js", "exit.js", "."], ["title.js", "exit.js", "steps/two.mjs"]),
        (["steps/notes.txt", "title.js"], ["steps/notes.txt", "title.js"]),
    ],
)
def test_each_file_is_judged_once(paths: list[str], files: list[str]) -> None:
    status, lines = checked(*paths)

    assert [line["file"] for line in lines] == files
    assert {line["file"] for line in lines if line["verdict"]["ok"]} == {"title.js"} & {*files}
    assert status == 1


def test_everything_allowed_exits_with_0() -> None:
    assert checked("title.js", "title.js", "*tle.js")[0] == 0


def test_a_file_whose_name_is_a_pattern_is_that_file(folder: Path) -> None:
    folder.joinpath("[a].js").write_text(ESCAPE)

    status, lines = checked("[a].js")

    assert (status, len(lines), lines[0]["ok"]) == (1, 1, False)


@pytest.mark.parametrize(
    ("arguments", "judged"),
    [
        (["calls.jsonl", "--field", "arguments.code"], {"1/arguments/code": True, "2/arguments/code": False}),
        (["call.json", "--field", "steps.*.code"], {"/steps/0/code": True, "/steps/1/code": False}),
        (["call.json", "--field", "/steps/1/code"], {"/steps/1/code": False}),
        (
            ["call.json", "--field", "steps.1.code", "--field", "steps.2.note"],
            {"/steps/1/code": False, "/steps/2/note": False},
        ),
    ],
)
def test_a_field_is_a_payload(arguments: list[str], judged: dict[str, bool]) -> None:
    status, lines = checked(*arguments)

    assert {line["field"]: line["verdict"]["ok"] for line in lines} == judged
    assert status == 1


def test_a_directory_is_searched_for_documents() -> None:
    status, lines = checked(".", "--field", "arguments.code")

    assert [(line["file"], line["field"]) for line in lines] == [
        ("calls.jsonl", "1/arguments/code"),
        ("calls.jsonl", "2/arguments/code"),
    ]
    assert status == 1


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        ('{"code": "1", "code": "process.exit()"}', ["--field", "code"]),
        ('{"code": {"a": 1}}', ["--field", "code"]),
        ('{"other": "1"}', ["--field", "code"]),
        ("{", ["--field", "code"]),
        ("[" * 100_000, ["--field", "code"]),
        ('{"code": "1"}', ["--field", "code", "-e", "1"]),
        ('{"code": "1"}', ["missing.js"]),
        ('{"code": "1"}', ["missing/*.js"]),
        ('{"code": "1"}', ["-"]),
    ],
    ids=str,
)
def test_what_cannot_be_judged_is_a_usage_error(content: str, arguments: list[str], folder: Path) -> None:
    folder.joinpath("a.json").write_text(content)

    done = run("check", "a.json", *arguments)

    assert (done.returncode, done.stdout) == (2, "")


def test_a_lone_surrogate_in_json_is_denied(folder: Path) -> None:
    folder.joinpath("a.json").write_text('{"code": "\\ud800"}')

    status, lines = checked("a.json", "--field", "code")

    assert (status, lines[0]["verdict"]["code"]) == (1, "EVAL_BAD_ENCODING")


def test_text_names_each_blocked_file_and_counts_all() -> None:
    done = run("check", ".", "--format", "text")

    lines = done.stdout.splitlines()
    assert [line for line in lines if line in FILES] == ["exit.js", "steps/two.mjs"]
    assert lines[-1] == "3 payloads: 1 allowed, 2 blocked (process.exit 1, keyword:eval( 1, eval() 1)"
    assert run("check", "title.js", "title.js", "--format", "text").stdout == "1 payload: all allowed\n"


def test_a_keyword_hides_no_other_finding() -> None:
    done = run("check", "-e", f"'__proto__'; {ESCAPE}; eval('1')", "--format", "json")

    names = [
        each.get("construct") or each["keyword"] for each in json.loads(done.stdout)["details"]["findings"]
    ]
    assert {"__proto__", "process.exit", "eval()"} <= {*names}


def test_no_control_character_of_a_name_reaches_the_terminal(folder: Path) -> None:
    folder.joinpath("a\x1b]0;owned\x07.js").write_text(ESCAPE)

    done = run("check", ".", "--format", "text")

    assert "owned" in done.stdout
    assert [char for char in done.stdout if not char.isprintable() and char != "\n"] == []
