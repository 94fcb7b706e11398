"""A manifest that cannot route is rejected with the tool, the field and the allowed values."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.tools import ManifestError, load_manifest, parse_manifest

DATA = Path(__file__).parents[1] / "data" / "tools"
REFUSED = yaml.safe_load((DATA / "refused.yaml").read_text("utf-8"))


def manifest_of(*tools: dict[str, Any]) -> dict[str, Any]:
    return {"api_version": "evalward/v1", "tools": list(tools)}


@pytest.mark.parametrize("case", REFUSED, ids=[case["says"][0] + f" {i}" for i, case in enumerate(REFUSED)])
def test_a_bad_tool_is_refused_by_name_field_and_allowed_values(case: dict[str, Any]) -> None:
    with pytest.raises(ManifestError) as refusal:
        parse_manifest(manifest_of(case["tool"]), source="m.yaml")

    assert [part for part in case["says"] if part not in refusal.value.message] == []
    assert len(refusal.value.issues) == 1


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "api_version: missing (allowed: evalward/v1)"),
        ({"api_version": "evalward/v1", "tools": []}, "1 to 512 tools"),
        ({"api_version": "evalward/v2", "tools": []}, "evalward/v1"),
        (
            manifest_of({"name": "t", "operation_type": "logs"}, {"name": "t", "operation_type": "eval"}),
            "tool t",
        ),
        (
            manifest_of({"name": "t", "operation_type": "logs"}, {"name": "t", "operation_type": "logs"}),
            "given twice",
        ),
        ([], "a mapping with api_version and tools"),
    ],
)
def test_a_bad_document_is_refused(document: Any, says: str) -> None:
    with pytest.raises(ManifestError) as refusal:
        parse_manifest(document, source="m.yaml")

    assert says in refusal.value.message


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("m.yaml", "tools: &a []\nmore: *a", "aliases"),
        ("m.yaml", "api_version: a\napi_version: b", "given twice"),
        ("m.json", '{"api_version":"evalward/v1","api_version":"evalward/v1"}', "a key twice"),
        ("m.json", '{"tools": NaN}', "NaN"),
        ("m.json", "[]", "JSON object"),
        ("m.toml", "", ".yaml, .yml, .json"),
        ("m.yaml", " ", "empty"),
    ],
)
def test_a_bad_file_is_refused(name: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(ManifestError, match=says):
        load_manifest(tmp_path / name)


def test_yaml_and_json_of_one_manifest_have_one_digest(tmp_path: Path) -> None:
    document = yaml.safe_load((DATA / "manifest.yaml").read_text("utf-8"))
    (tmp_path / "m.json").write_text(json.dumps(document))
    spelled = {**document, "server": "another"}
    spelled["tools"][0]["source_fields"] = ["code", "script", "source"]

    first = load_manifest(DATA / "manifest.yaml")

    assert load_manifest(tmp_path / "m.json").digest == first.digest
    assert parse_manifest(spelled, source="m").digest == first.digest
    document["tools"][0]["target"] = "node"
    assert parse_manifest(document, source="m").digest != first.digest


def test_the_defaults_are_what_the_schema_declares() -> None:
    tool = load_manifest(DATA / "manifest.yaml").tool("run")

    assert tool is not None
    assert tool.sources == ("code", "script", "source")
    assert tool.forbidden == ("filename", "sourcePath")


WRONG = {
    "api_version": "evalward/v1",
    "server": 5,
    "tools": [
        {"name": "a", "operation_type": "comand", "sourcefields": ["x"]},
        "b",
        {
            "name": "c",
            "operation_type": "command",
            "description": ["x"],
            "fields": {"/url": {"kind": "ulr"}},
        },
        {"name": "d", "operation_type": "eval", "input_schema": {"properties": {"code": {"type": "string"}}}},
    ],
}
WORDS = (
    "server: not text (allowed: text)",
    "tool a: operation_type: not one of the values; did you mean command? (allowed: command, ",
    "tool a: sourcefields: unknown field; did you mean source_fields or ",
    "tool number 1: not a mapping (allowed: a mapping)",
    "tool c: description: not text (allowed: text)",
    "tool c: fields./url: not the kind of a field (allowed: source, url, ",
    "tool d: target: an eval tool needs a sink or a target (allowed: main, ",
)


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".tabs.json"])
def test_every_error_of_a_manifest_is_told_by_line_and_key_in_our_words(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{suffix}"
    written = {
        ".yaml": yaml.safe_dump(WRONG, sort_keys=False),
        ".json": json.dumps(WRONG, indent=2),
        ".tabs.json": json.dumps(WRONG, indent="\t"),
    }[suffix]
    path.write_text(written)

    with pytest.raises(ManifestError) as refusal:
        load_manifest(path)

    issues = refusal.value.issues
    told = [str(replace(each, line=None)) for each in issues]
    assert [part for part in WORDS if not any(each.startswith(part) for each in told)] == []
    lines = written.splitlines()
    keys = (
        "server",
        "operation_type",
        "sourcefields",
        "b",
        "description",
        "/url",
        "d" if suffix == ".yaml" else "{",
    )
    for issue, key in zip(issues, keys, strict=True):
        assert issue.line is not None
        assert key in lines[issue.line - 1]
        assert "Input should" not in str(issue)
