"""A misspelled kind of binding is rejected everywhere; treated as data, it would allow an escape."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evalward import validate
from evalward.cli.app import app
from evalward.client import GuardClient
from evalward.corpus.corpus_case import CorpusError, load_cases
from evalward.errors import CodedError
from evalward.guard import judge
from evalward.guard.binding import BindingKind
from evalward.guard.resolve import bindings_for
from evalward.guard.rules import Rules
from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.tools import ManifestError, parse_manifest
from evalward.v1 import evalward_pb2 as pb

QUIT = "app.quit()"
MISTYPED = {"app": "electron.ap"}
KINDS = [*BindingKind]
RUNNER = CliRunner()
Start = Callable[..., Any]


def validation_request(kind: str) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=QUIT.encode(), target=pb.TARGET_RENDERER, bindings={"app": kind})


def assert_refused(error: pb.Error, envelope: bytes) -> None:
    read = json.loads(envelope)
    assert (error.code, error.field) == ("INVALID_INPUT", "/bindings/app")
    assert read["details"]["allowed"] == KINDS
    assert read["similar_refs"][0] == "electron.app"


def test_a_request_with_a_mistyped_kind_is_refused(start: Start) -> None:
    stub = start(judge).stub

    refused = stub.Validate(validation_request("electron.ap"))
    blocked = stub.Validate(validation_request("electron.app"))

    assert_refused(refused.error, refused.envelope)
    assert blocked.error.construct == "electron-lifecycle"


def test_an_item_of_a_batch_with_a_mistyped_kind_is_refused(start: Start) -> None:
    batch = pb.ValidateBatchRequest(items=[validation_request("json"), validation_request("electron.ap")])

    (failure,) = start(judge).stub.ValidateBatch(batch).failures

    assert failure.item_index == 1
    assert_refused(failure.error, failure.envelope)


def test_a_client_hears_what_kinds_there_are(start: Start) -> None:
    with GuardClient(start(judge).address) as guard:
        decision = guard.validate(QUIT.encode(), target="renderer", bindings=MISTYPED)

    assert (decision.allowed, decision.code) == (False, "INVALID_INPUT")
    assert decision.envelope["details"]["allowed"] == KINDS


def test_the_api_refuses_a_mistyped_kind() -> None:
    with pytest.raises(CodedError, match="no kind of binding"):
        validate(
            QUIT.encode(),
            target="renderer",
            policy=Policy.default().allowing([Target.RENDERER]),
            bindings=MISTYPED,
        )


def test_a_manifest_with_a_mistyped_kind_stops_the_start() -> None:
    tool = {
        "name": "run",
        "operation_type": "eval",
        "target": "main",
        "source_fields": ["code"],
        "bindings": {"electronApp": "electorn"},
    }
    with pytest.raises(ManifestError, match=r"tool run: bindings.electronApp: .*electron\?.*playwright.page"):
        parse_manifest({"api_version": "evalward/v1", "tools": [tool]}, source="the test")


@pytest.mark.parametrize("command", [["check", "--target", "renderer", "-e", QUIT], ["policy", "check"]])
def test_the_command_line_refuses_a_mistyped_kind(command: list[str], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\ntargets: {main: {bindings: {app: electron.ap}}}\n")

    more = [str(policy)] if command[0] == "policy" else ["--bind", "app=electron.ap"]
    done = RUNNER.invoke(app, [*command, *more], env={"COLUMNS": "400"})

    assert done.exit_code != 0
    assert "did you mean electron.app?" in done.output
    assert "playwright.electronApp" in done.output


def test_a_case_with_a_mistyped_kind_is_no_case(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(
        "- {id: a, code: app.quit(), target: main, expect: block, bindings: {app: electron.ap}}\n"
    )

    with pytest.raises(CorpusError, match=r"electron.app\?; allowed: json, electron"):
        load_cases([file])


def test_the_guard_resolves_each_kind_and_takes_no_other() -> None:
    names = {f"n{index}": kind.value for index, kind in enumerate(KINDS)}

    assert names.keys() <= bindings_for(Rules(bindings=names), Target.RENDERER).keys()
    with pytest.raises(ValueError, match="a binding's kind is one of"):
        Rules(bindings=MISTYPED)
