"""The scripts of the GitHub Action and of the pre-commit hooks, without their hosts."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from command_line import run

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load(ROOT.joinpath("action.yml").read_text("utf-8"))
HOOKS = {
    hook["id"]: hook for hook in yaml.safe_load(ROOT.joinpath(".pre-commit-hooks.yaml").read_text("utf-8"))
}
SCHEMA = json.loads(Path(__file__).parent.joinpath("data", "sarif-schema-2.1.0.json").read_text("utf-8"))


def steps() -> dict[str, Any]:
    return {step["name"]: step for step in ACTION["runs"]["steps"]}


def act(
    folder: Path, *, found_in: Path = Path(sys.executable).parent, **inputs: str
) -> tuple[int, dict[str, str], Path]:
    """Run the step that checks, with the values that the host would put into its variables."""
    step = steps()["Check"]
    given = {name: str(each["default"]) for name, each in ACTION["inputs"].items()} | inputs
    variables = {
        name: given[expression.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, expression in step["env"].items()
    }
    output = folder / "output"
    output.touch()
    path = f"{found_in}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],  # as the host runs it
        cwd=folder,
        env={**os.environ, **variables, "PATH": path, "GITHUB_OUTPUT": str(output)},
        check=False,
    )
    lines = [line.partition("=") for line in output.read_text().splitlines()]
    return done.returncode, {name: value for name, _, value in lines}, folder / given["sarif-file"]


def test_the_action_is_valid() -> None:
    command = ["check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"]
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], cwd=ROOT, check=True)


def test_other_actions_are_pinned_and_no_input_is_part_of_a_script() -> None:
    for step in steps().values():
        assert "${{" not in step.get("run", "")
        assert len(step.get("uses", f"a@{'0' * 40}").split("@")[1]) == 40


def test_the_action_writes_valid_sarif_for_every_file(tmp_path: Path) -> None:
    tmp_path.joinpath("fine.js").write_text("1 + 1")
    tmp_path.joinpath("an escape; $(touch owned).js").write_text("const k = 'exit';\nprocess[k]()")
    tmp_path.joinpath("broken.js").write_text("((")

    status, output, sarif = act(tmp_path, paths="fine.js\n.\n", sink="node.vm")

    log = json.loads(sarif.read_text("utf-8"))
    jsonschema.validate(log, SCHEMA, jsonschema.Draft4Validator)
    found = {
        (result["ruleId"], result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for result in log["runs"][0]["results"]
    }
    assert found == {
        ("process.exit", "an%20escape%3B%20%24%28touch%20owned%29.js"),
        ("EVAL_SYNTAX_ERROR", "broken.js"),
    }
    assert (status, output) == (0, {"status": "1"})
    assert not tmp_path.joinpath("owned").exists()


def test_a_finding_in_json_is_at_its_line(tmp_path: Path) -> None:
    calls = [{"arguments": {"code": code}} for code in ("1", "eval('1')")]
    tmp_path.joinpath("calls.jsonl").write_text("\n".join(map(json.dumps, calls)))

    _, _, sarif = act(tmp_path, paths="calls.jsonl", field="arguments.code")

    log = json.loads(sarif.read_text("utf-8"))
    jsonschema.validate(log, SCHEMA, jsonschema.Draft4Validator)
    places = [each["locations"][0]["physicalLocation"]["region"] for each in log["runs"][0]["results"]]
    assert {(place["startLine"], place["startColumn"]) for place in places} == {(2, 24)}


@pytest.mark.exhaustive
def test_the_action_installs_what_it_checks_with(tmp_path: Path) -> None:
    """The first step, too, with the folders that the host gives: then only its ``evalward`` is in PATH."""
    added = tmp_path / "path"
    host = {"RUNNER_TEMP": str(tmp_path), "GITHUB_PATH": str(added), "GITHUB_ACTION_PATH": str(ROOT)}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    subprocess.run(
        [*shell, steps()["Install Evalward"]["run"]], env=inherited | host | {"PIP_QUIET": "3"}, check=True
    )
    tmp_path.joinpath("escape.js").write_text("process['ex' + 'it']()")

    status, output, sarif = act(
        tmp_path, found_in=Path(added.read_text().strip()), paths="escape.js", sink="node.vm"
    )

    log = json.loads(sarif.read_text("utf-8"))
    jsonschema.validate(log, SCHEMA, jsonschema.Draft4Validator)
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["process.exit"]
    assert (status, output) == (0, {"status": "1"})


@pytest.mark.parametrize(("payload", "failed"), [("1", 0), ("eval('1')", 1)])
def test_the_last_step_is_the_result_of_the_job(payload: str, failed: int, tmp_path: Path) -> None:
    tmp_path.joinpath("a.js").write_text(payload)
    _, output, _ = act(tmp_path)

    for fail, expected in (("true", failed), ("false", 0)):
        done = subprocess.run(
            ["bash", "-e", "-c", steps()["Result"]["run"]],
            env={"STATUS": output["status"], "FAIL": fail},
            check=False,
        )
        assert done.returncode == expected


def test_a_usage_error_fails_the_check(tmp_path: Path) -> None:
    assert act(tmp_path, paths="missing")[0] == 2


def test_pre_commit_accepts_the_hooks() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")

    assert [hook["id"] for hook in clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))] == [*HOOKS]


@pytest.mark.parametrize(
    ("hook", "name", "content", "arguments"),
    [
        ("evalward-check", "a.js", "eval('1')", []),
        ("evalward-check-json", "a.json", '{"code": "eval(1)"}', ["--field", "code"]),
    ],
)
def test_a_hook_fails_on_a_blocked_file(
    hook: str, name: str, content: str, arguments: list[str], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(content)

    done = run(*shlex.split(HOOKS[hook]["entry"])[1:], *arguments, str(file), str(file))

    assert (done.returncode, "eval()" in done.stdout) == (1, True)
