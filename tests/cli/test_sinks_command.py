"""``--sink`` and ``evalward sinks``: the names that are accepted, and the error for an unknown one."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from evalward.cli import serverless
from evalward.cli.app import app
from evalward.errors import Code
from evalward.errors.self_repair import Repair
from evalward.guard.sinks import sinks
from evalward.policy.named_sink import UnknownSink

ROOT = Path(__file__).parents[2]


def run(command: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, shlex.split(command)[1:], env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("profile", ["", " --profile strict"])
def test_what_playwright_runs_as_a_script_is_blocked(profile: str) -> None:
    command = (
        "evalward check --sink playwright.evaluate --target renderer"
        r""" -e "{}/\"/-globalThis['ev'+'al']('1')//\"/1" """
    )

    code, printed, _ = run(command + profile)

    assert code == 1
    envelope = json.loads(printed)
    assert (envelope["code"], envelope["details"]["construct"]) == ("EVAL_BLOCKED_CONSTRUCT", "eval()")
    assert envelope["details"]["sink"] == "playwright.evaluate"


def test_its_harmless_twin_is_allowed_and_says_the_sink() -> None:
    twin = r"""evalward check --sink playwright.evaluate -e "{}/\"/-document.title.length//\"/1" """

    code, printed, _ = run(f"{twin} --format json")
    _, text, _ = run(f"{twin} --format text")
    _, log, _ = run(f"{twin} --format sarif")

    assert code == 0
    assert {key: json.loads(printed)[key] for key in ("ok", "sink", "target", "shape")} == {
        "ok": True,
        "sink": "playwright.evaluate",
        "target": "renderer",
        "shape": None,
    }
    assert "target renderer, sink playwright.evaluate, profile balanced" in text
    assert json.loads(log)["runs"][0]["properties"] == {"sink": "playwright.evaluate"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--sink playwright.evaluat", "Allowed: playwright.evaluate,"),
        ("--sink nothing", "puppeteer.evaluate"),
        ("--sink node.vm --target renderer", "Allowed: main."),
        ("--sink node.vm --shape script", "shape"),
        ("--sink playwright.run-code --bind page=json", "Allowed: playwright.page."),
    ],
)
def test_a_sink_that_cannot_be_meant_is_a_usage_error(options: str, says: str) -> None:
    code, _, error = run(f"evalward check -e 1 {options}")

    assert code == 2
    assert says in " ".join(error.replace("│", " ").split())


def test_every_sink_is_listed() -> None:
    _, table, _ = run("evalward sinks")
    _, listed, _ = run("evalward sinks --json")
    _, one, _ = run("evalward sinks selenium.execute-script")

    assert all(sink in table for sink in sinks())
    assert [sink["id"] for sink in json.loads(listed)["sinks"]] == [*sinks()]
    assert one.startswith("selenium.execute-script")


def test_the_page_and_the_list_of_the_node_package_are_current() -> None:
    _, page, _ = run("evalward sinks --markdown")
    _, listed, _ = run("evalward sinks --json")

    assert (ROOT / "docs" / "reference" / "sinks.md").read_text("utf-8") == page, (
        "evalward sinks --markdown > docs/reference/sinks.md"
    )
    kept = json.loads((ROOT / "clients" / "node" / "sinks.json").read_text("utf-8"))
    assert kept == json.loads(listed), "evalward sinks --json > clients/node/sinks.json"


@pytest.mark.parametrize("allowed", [["a.b", "c.d"], ("a.b", "c.d")])
def test_what_is_allowed_is_said_whatever_holds_it(allowed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnknownSink(Code.INVALID_INPUT, "No.", repair=Repair(field="/sink", allowed=allowed))

    monkeypatch.setattr(serverless, "asked_sink", refuse)

    with pytest.raises(typer.BadParameter, match=r"No\. Allowed: a\.b, c\.d\."):
        serverless.sink_option("x", target=None, shape=None, bindings={})
