"""One rule for the exit code of every command: docs/reference/stability.md, "Exit codes"."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.similar import did_you_mean, similar_names

RUNNER = CliRunner()
FINE, FINDING, USAGE, INFRASTRUCTURE = range(4)
CASE = {"id": "b", "code": "1 + 1", "target": "main", "expect": "allow"}
FILES = {
    "good.yaml": "api_version: evalward/v1\ntargets: {main: {allowed: true}}\n",
    "bad.yaml": "api_version: evalward/v1\nprofile: lax\n",
    "fine.jsonl": json.dumps(CASE),
    "wrong.jsonl": json.dumps({**CASE, "code": "process.exit()"}),
    "broken.jsonl": "{",
    "tools.json": '{"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}',
    "text.json": '"text"',
    "payload.js": "1 + 1",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("check payload.js", FINE),
        ("check -e process.exit()", FINDING),
        ("check . payload.js", FINE),
        ("check . missing.js", USAGE),
        ("check text.json --field code", USAGE),
        ("check missing.js", USAGE),
        ("check -e 1 --target mian", USAGE),
        ("check -e 1 --profile stric", USAGE),
        ("check -e 1 --shape functio", USAGE),
        ("check -e 1 --polcy good.yaml", USAGE),
        ("check -e 1 --policy missing.yaml", INFRASTRUCTURE),
        ("check -e 1 --policy bad.yaml", INFRASTRUCTURE),
        ("eval -e 1", FINE),
        ("eval -e (()=>{throw(1)})()", FINDING),
        ("eval missing.js", USAGE),
        ("eval -e 1 --policy bad.yaml", INFRASTRUCTURE),
        ("eval -e 1 --policy missing.yaml", INFRASTRUCTURE),
        ("corpus run fine.jsonl", FINE),
        ("corpus run wrong.jsonl", FINDING),
        ("corpus run broken.jsonl", USAGE),
        ("corpus run missing.jsonl", USAGE),
        ("corpus run fine.jsonl --profile x", USAGE),
        ("corpus run fine.jsonl --policy bad.yaml", INFRASTRUCTURE),
        ("corpus run fine.jsonl --policy missing.yaml", INFRASTRUCTURE),
        ("policy check good.yaml", FINE),
        ("policy check bad.yaml", FINDING),
        ("policy check missing.yaml", USAGE),
        ("policy schema", FINE),
        ("policy diff good.yaml good.yaml fine.jsonl", FINE),
        ("policy diff good.yaml bad.yaml fine.jsonl", INFRASTRUCTURE),
        ("policy diff --ruleset 1..1 --policy missing.yaml fine.jsonl", INFRASTRUCTURE),
        ("policy diff --ruleset 1..99 fine.jsonl", USAGE),
        ("policy diff good.yaml good.yaml broken.jsonl", USAGE),
        ("policy suggest missing.jsonl", USAGE),
        ("tools --json-schema", FINE),
        ("tools init --from tools.json", FINE),
        ("tools init --from missing.json", USAGE),
        ("tools init --from text.json", USAGE),
        ("tools list", USAGE),
        ("tools list --manifest bad.yaml", INFRASTRUCTURE),
        ("tools list --manifest missing.yaml", INFRASTRUCTURE),
        ("audit verify missing.jsonl", INFRASTRUCTURE),
        ("audit query missing.jsonl", INFRASTRUCTURE),
        ("audit query --kind desision", USAGE),
        ("audit query --outcome denied", USAGE),
        ("audit query --code EVAL_BLOKED", USAGE),
        ("audit query --construct evil()", USAGE),
        ("audit query --shadow evil()", USAGE),
        ("audit query --target mian", USAGE),
        ("audit query --decision-id 3f0c", USAGE),
        ("audit query --code-hash xyz", USAGE),
        ("audit query --fnv1a32 1234", USAGE),
        ("audit query --trace-id 1234", USAGE),
        ("audit query --since yesterday", USAGE),
        ("audit hash missing.js", USAGE),
        ("codes", FINE),
        ("codes --jsn", USAGE),
        ("explain eval()", FINE),
        ("explain evil()", USAGE),
        ("health 127.0.0.1:1 --timeout 0.2", INFRASTRUCTURE),
        ("health --cert x", USAGE),
        ("serve --print-config", FINE),
        ("serve --print-config --config missing.yaml", INFRASTRUCTURE),
        ("serve --allow-eval=mian", USAGE),
        ("serve --policy bad.yaml", INFRASTRUCTURE),
        ("serve --policy missing.yaml", INFRASTRUCTURE),
        ("serve --manifest missing.yaml", INFRASTRUCTURE),
        ("serv", USAGE),
        ("audit verfy", USAGE),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_exit_code_is_that_of_the_rule(command: str, code: int) -> None:
    result = RUNNER.invoke(app, command.split(" "))

    assert result.exit_code == code, result.output
    if code >= USAGE:
        assert "Traceback" not in result.output
        assert "Value error" not in result.output


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("chek -e 1", "check"),
        ("policy chek x", "check"),
        ("audit qery", "query"),
        ("check -e 1 --target mian", "main"),
        ("check -e 1 --profile stric", "strict"),
        ("check -e 1 --shape functio", "function"),
        ("explain evil()", "eval()"),
        ("audit query --kind desision", "decision"),
        ("audit query --outcome denie", "deny"),
        ("audit query --code EVAL_BLOKED_KEYWORD", "EVAL_BLOCKED_KEYWORD"),
        ("audit query --construct evil()", "eval()"),
        ("audit query --target rendrer", "renderer"),
        ("serve --allow-eval=rendrer", "renderer"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_misspelt_name_gets_a_suggestion(command: str, meant: str) -> None:
    result = RUNNER.invoke(app, command.split(" "), env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"})

    assert "did you mean" in result.stderr
    assert meant in result.stderr.split("did you mean")[1].split("?")[0]


def test_nothing_is_suggested_for_what_is_like_nothing() -> None:
    assert did_you_mean("xyzzy", ["main", "renderer"]) == ""
    assert similar_names("RENDRER", ["main", "renderer"]) == ["renderer"]
    assert similar_names("x" * 100_000, ["x"]) == []
    assert similar_names("allow_eval", ["allow-eval"]) == ["allow-eval"]


@pytest.mark.parametrize("path", [["tools", "list"], ["serve", "--print-config"]])
def test_allow_eval_means_the_same_with_and_without_an_equals_sign(path: list[str], folder: Path) -> None:
    manifest = folder / "m.yaml"
    manifest.write_text(
        "api_version: evalward/v1\nserver: s\ntools:\n"
        + "".join(
            f"  - {{name: {target}, operation_type: eval, target: {target}, source_fields: [code],"
            f" input_schema: {{type: object, properties: {{code: {{type: string}}}}}}}}\n"
            for target in ("main", "renderer")
        )
    )
    more = ["--manifest", str(manifest)]

    def shown(*flag: str) -> str:
        result = RUNNER.invoke(app, [*path, *more, *flag])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert shown("--allow-eval=renderer") == shown("--allow-eval", "renderer")
    assert shown("--allow-eval") == shown("--allow-eval=all") != shown("--allow-eval=renderer")
    both = shown("--allow-eval=main,renderer")
    assert shown("--allow-eval=main", "--allow-eval", "renderer") == both != shown("--allow-eval=renderer")
    if path[0] != "serve":  # which also prints where the setting came from
        assert shown("--allow-eval=") == shown()
