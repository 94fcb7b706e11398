"""A manifest that cannot route is refused with the tool, the field and what is allowed."""

import json
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
