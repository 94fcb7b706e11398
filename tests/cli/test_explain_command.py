import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.cli.explain import complete_label
from evalward.construct_pages import as_object, markdown, shown
from evalward.guard.constructs import CONSTRUCTS

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "constructs.md"


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["explain", *arguments], env={"COLUMNS": "120"})


@pytest.mark.parametrize("label", CONSTRUCTS)
def test_text_shows_the_page_and_the_examples(label: str) -> None:
    done = run(label)
    construct = CONSTRUCTS[label]
    assert done.exit_code == 0
    assert label in done.stdout
    assert all(f"next: {action}" in done.stdout for action in construct.use_instead)
    assert done.stdout.count("blocked  ") == done.stdout.count("allowed  ") == len(construct.examples)
    assert all(char.isprintable() or char == "\n" for char in done.stdout)


def test_json_is_the_construct() -> None:
    document = json.loads(run("eval()", "--format", "json").stdout)
    assert document.pop("schema") == {"constructs": 1}
    assert document == as_object(CONSTRUCTS["eval()"])


def test_the_list_names_every_construct() -> None:
    text = run("--list").stdout
    assert [label for label in CONSTRUCTS if label not in text] == []
    document = json.loads(run("--list", "--format", "json").stdout)
    assert [each["label"] for each in document["constructs"]] == [*CONSTRUCTS]
    assert {each["default"] for each in document["constructs"]} == {"block", "allow"}


@pytest.mark.parametrize(
    ("asked", "label"),
    [
        ("process.mainModule", "process.<member>"),
        ("eval", "eval()"),
        ("FUNCTION", "Function()"),
        ("proto", "__proto__"),
    ],
)
def test_a_construct_is_found_by_what_people_type(asked: str, label: str) -> None:
    assert json.loads(run(asked, "--format", "json").stdout)["label"] == label


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evil()"], "did you mean eval()"),
        (["zzzzzz"], "--list"),
        ([], "--list"),
        (["with", "--list"], "--list"),
        (["with", "--format", "markdown"], "--list"),
    ],
)
def test_what_does_not_fit_is_a_usage_error(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_shell_completes_labels() -> None:
    assert complete_label("electron") == ["electron-lifecycle", "electron-shell", "electron"]


def test_a_generated_example_is_cut_short() -> None:
    assert len(shown("x" * 10_000)) < 200
    assert shown("a\u202eb\nc") == "a\\u202eb\nc"


def test_the_docs_page_is_current() -> None:
    assert markdown() == DOCS.read_text(encoding="utf-8"), (
        "evalward explain --list --format markdown > docs/reference/constructs.md"
    )
