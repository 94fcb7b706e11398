"""The ready manifests load, route the calls of their servers, and describe their tools in few tokens."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.audit import AuditLog
from evalward.errors import REGISTRY, Code, Provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.judging.in_process import InProcessExecutor
from evalward.policy import Policy, parse_policy
from evalward.server.decide.audit_trail import AuditTrail
from evalward.server.decide.call_decider import CallDecider
from evalward.server.decide.decider import Decider
from evalward.tools import Manifest, parse_manifest
from evalward.tools.commands import CommandValidator
from evalward.tools.describe import MAX_TOKENS, MAX_TOKENS_OF_RUNS, codes_of, description, tools_list
from evalward.tools.ready import ready_manifests
from evalward.v1 import evalward_pb2 as pb

ROOT = Path(__file__).parents[2]
MANIFESTS = ready_manifests()
CASES: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / "tests" / "data" / "tools" / "examples.yaml").read_text("utf-8")
)
EVERYTHING = Policy.default().allowing(Target)


@pytest.fixture
def decide(tmp_path: Path) -> Callable[..., Code | None]:
    """Return a function that gives the code of a call's denial, None when it is allowed."""

    def code_of(manifest: Manifest, tool: str, arguments: Any, policy: Policy) -> Code | None:
        provenance = Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0")
        with AuditLog.open(tmp_path / "audit.jsonl") as log:
            audit_trail = AuditTrail(log, provenance, manifest_digest=manifest.digest)
            executor = InProcessExecutor(judge, max_concurrent=1, queue=0)
            decider = Decider(
                policy=policy, audit_trail=audit_trail, executor=executor, provenance=provenance
            )
            calls = CallDecider(decider, audit_trail, policy=policy, provenance=provenance, manifest=manifest)
            request = pb.ValidateCallRequest(tool=tool, arguments_json=json.dumps(arguments).encode())
            return calls.decide(request.SerializeToString(), remaining=None).decision.code

    return code_of


def spelt_out(text: str) -> str:
    """Return ``text`` with EVAL_{A,B} as EVAL_A, EVAL_B."""
    return re.sub(
        r"(\w+_)\{([^}]*)\}", lambda found: ", ".join(found[1] + each for each in found[2].split(",")), text
    )


def test_there_is_a_manifest_for_each_of_the_servers_that_are_promised() -> None:
    assert [*MANIFESTS] == [
        "chrome-devtools-mcp",
        "electron-stagewright",
        "mcp-selenium",
        "playwright-mcp",
        "puppeteer-mcp-server",
        "seleniumbase-mcp",
        "server-puppeteer",
    ]
    assert {case["manifest"] for case in CASES} == {*MANIFESTS}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['manifest']} {case['tool']}")
def test_a_ready_manifest_passes_ordinary_calls_and_denies_the_rest(
    case: dict[str, Any], decide: Callable[..., Code | None]
) -> None:
    manifest = MANIFESTS[case["manifest"]]

    assert decide(manifest, case["tool"], case["pass"], EVERYTHING) is None
    assert decide(manifest, case["tool"], case["deny"], EVERYTHING) == case["code"]


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_descriptions_are_short_and_carry_the_codes(name: str) -> None:
    for tool in MANIFESTS[name].tools:
        text = description(tool)
        assert len(text) <= 4 * MAX_TOKENS
        assert [code for code in codes_of(tool) if code not in spelt_out(text)] == []
        assert all(REGISTRY[code].grpc_status is None for code in codes_of(tool))
        CommandValidator(tool)


def test_a_long_description_is_cut_and_keeps_its_codes() -> None:
    entry = {"name": "t", "operation_type": "eval", "target": "main", "description": "word " * 100}
    (tool,) = parse_manifest({"api_version": "evalward/v1", "tools": [entry]}, source="m").tools

    text = description(tool)

    assert len(text) <= 4 * MAX_TOKENS
    assert "… Errors: EVAL_{BLOCKED_KEYWORD,BLOCKED_CONSTRUCT" in text


@pytest.mark.parametrize(("written", "begins"), [("Run code", "Run code. Errors:"), ("Run!", "Run! Errors:")])
def test_the_codes_begin_a_sentence_of_their_own(written: str, begins: str) -> None:
    entry = {"name": "t", "operation_type": "eval", "target": "main", "description": written}
    (tool,) = parse_manifest({"api_version": "evalward/v1", "tools": [entry]}, source="m").tools

    assert description(tool).startswith(begins)


def test_the_eval_tools_of_a_denied_target_are_absent() -> None:
    manifest = MANIFESTS["electron-stagewright"]

    def names(*targets: Target) -> set[str]:
        return {entry["name"] for entry in tools_list(manifest, targets) if "eval" in entry["name"]}

    assert names() == set()
    assert names(Target.RENDERER) == {"electron_eval_renderer"}
    assert names(*Target) == {"electron_eval_renderer", "electron_eval_main"}
    assert "electron_click" in {entry["name"] for entry in tools_list(manifest, ())}
    json.dumps(tools_list(manifest, [*Target]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['manifest']} {case['tool']} {case['code']}")
def test_the_code_of_each_denial_is_in_the_description(case: dict[str, Any]) -> None:
    tool = MANIFESTS[case["manifest"]].tool(case["tool"])

    assert tool is not None
    assert case["code"] in spelt_out(description(tool))


def test_a_tool_that_runs_in_the_sandbox_says_how_a_run_can_fail() -> None:
    entry = {"name": "t", "operation_type": "eval", "target": "sandbox", "source_fields": ["code"]}
    (tool,) = parse_manifest({"api_version": "evalward/v1", "tools": [entry]}, source="m").tools

    text = description(tool)

    assert text.startswith("Run JavaScript in the sandbox. Errors: EVAL_{")
    assert len(text) <= 4 * MAX_TOKENS_OF_RUNS
    assert [code for code in codes_of(tool) if code not in spelt_out(text)] == []
    assert {
        code for code in Code if REGISTRY[code].domain == "sandbox" and not REGISTRY[code].grpc_status
    } <= {*codes_of(tool)}


def test_fields_that_are_always_refused_are_not_shown() -> None:
    evaluating = MANIFESTS["chrome-devtools-mcp"]
    launching = MANIFESTS["mcp-selenium"]

    def shown(manifest: Manifest, name: str, policy: Policy | None) -> dict[str, Any]:
        listed = tools_list(manifest, [*Target], policy.fields if policy else None)
        schema: dict[str, Any] = next(each["inputSchema"] for each in listed if each["name"] == name)
        return schema

    listing = parse_policy({"api_version": "evalward/v1", "fields": {"paths": ["./"]}}, source="p")
    assert "sourcePath" not in shown(evaluating, "evaluate_script", None)["properties"]
    assert "filePath" in shown(evaluating, "evaluate_script", None)["properties"]
    assert "filePath" not in shown(evaluating, "evaluate_script", EVERYTHING)["properties"]
    assert "filePath" in shown(evaluating, "evaluate_script", listing)["properties"]
    assert "filePath" in shown(evaluating, "take_heapsnapshot", EVERYTHING)["required"]
    options = shown(launching, "start_browser", EVERYTHING)["properties"]["options"]
    assert [*options["properties"]] == ["headless"]
