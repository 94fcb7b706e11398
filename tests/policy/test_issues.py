"""Errors in a policy: each with its key and line, in this project's own words."""

import re
from pathlib import Path
from typing import Any

import pytest

from evalward.policy import PolicyError, load_policy

YAML = """\
api_version: evalward/v1
profile: stric
colour: red
limits:
  depth: 0
  payload_bytes: lots
  deep: 3
  steps: many
targets:
  renderer: {allowed: 1}
  rendrer: {allowed: true}
constructs:
  evil(): audit
  network: forbid
exceptions:
  - sha256: abc
    targets: main
    reason: ""
    expires: soon
enforcement: {mode: audti, until: 3}
ruleset: 99
"""
TOML = """\
api_version = "evalward/v1"
profile = "stric"

[limits]  # counted
depth = 0
"deep" = 3

[targets.renderer]
allowed = 1

[[exceptions]]
sha256 = "abc"

[[exceptions]]
reason = ""
expires = "soon"

[blocklist]
add = [{ id = "A B", text = "x" }]
"""
FOREIGN = re.compile(
    r"Input should|valid (integer|boolean|string|list)|Field required|Extra inputs|Value error|type="
)


def issues(text: str, file: Path) -> dict[str, tuple[int | None, str]]:
    file.write_text(text)
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert FOREIGN.search(str(caught.value)) is None
    listed: Any = caught.value.details["issues"]
    assert [issue["line"] for issue in listed] == [issue.line for issue in caught.value.issues]
    return {issue.field: (issue.line, issue.problem) for issue in caught.value.issues}


def refusal_of(file: Path) -> str:
    """Return why a file is no policy, "" for a policy."""
    try:
        load_policy(file)
    except PolicyError as refusal:
        return str(refusal)
    return ""


def test_every_error_of_a_yaml_file_has_its_key_and_line(tmp_path: Path) -> None:
    assert issues(YAML, tmp_path / "policy.yaml") == {
        "profile": (2, "not one of the values; did you mean strict?"),
        "colour": (3, "unknown field"),
        "limits.depth": (5, "too small"),
        "limits.payload_bytes": (6, "unknown preset"),
        "limits.deep": (7, "unknown field; did you mean depth?"),
        "limits.steps": (8, "not a whole number"),
        "targets.renderer.allowed": (10, "neither true nor false"),
        "targets.rendrer": (11, "unknown target; did you mean renderer?"),
        "constructs.evil()": (13, "not a construct label; did you mean eval()?"),
        "constructs.network": (14, "not one of the values"),
        "exceptions.0.sha256": (16, "not a whole SHA-256 in lower-case hex"),
        "exceptions.0.constructs": (16, "missing: it is required"),
        "exceptions.0.owner": (16, "missing: it is required"),
        "exceptions.0.targets": (17, "not a list"),
        "exceptions.0.reason": (18, "too short"),
        "exceptions.0.expires": (19, "not a day"),
        "enforcement.mode": (20, "not one of the values; did you mean audit?"),
        "enforcement.until": (20, "not a day"),
        "ruleset": (21, "too large"),
    }


def test_the_lines_of_a_toml_file_are_those_of_its_keys_and_tables(tmp_path: Path) -> None:
    found = issues(TOML, tmp_path / "policy.toml")

    assert {field: line for field, (line, _) in found.items()} | {
        "profile": 2,
        "limits.depth": 5,
        "limits.deep": 6,
        "targets.renderer.allowed": 9,
        "exceptions.0.sha256": 12,
        "exceptions.0.reason": 11,
        "exceptions.1.sha256": 14,
        "exceptions.1.reason": 15,
        "exceptions.1.expires": 16,
        "blocklist.add.0.id": 19,
    } == {field: line for field, (line, _) in found.items()}


def test_the_words_of_the_library_never_show(tmp_path: Path) -> None:
    values = [
        "1",
        "1.5",
        "true",
        "text",
        "[]",
        "{}",
        "[1]",
        "{a: 1}",
        "null",
        "2027-01-01",
        "-1",
        "99999999999",
    ]
    fields = [
        *(
            "profile",
            "ruleset",
            "allow_weak",
            "targets",
            "constructs",
            "blocklist",
            "limits",
            "process_reads",
        ),
        *("env_names", "enforcement", "tools", "exceptions", "api_version"),
    ]
    for field in fields:
        for value in values:
            file = tmp_path / "policy.yaml"
            version = "" if field == "api_version" else "api_version: evalward/v1\n"
            file.write_text(f"{version}{field}: {value}\n")
            text = refusal_of(file)
            assert FOREIGN.search(text) is None, (field, value)
            assert "not a value of this field" not in text, (field, value, text)
