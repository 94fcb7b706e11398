import csv
import os
from pathlib import Path

import pytest

from evalward.errors import Code, canonical_json
from evalward.guard.rules import Action, BlocklistMode, Keyword, Limits
from evalward.guard.target import Profile, Target
from evalward.policy import Policy, PolicyError, load_policy
from evalward.policy.policy_file import MAX_FILE_BYTES

DATA = Path(__file__).parents[1] / "data" / "policy"
with (DATA / "invalid.tsv").open(encoding="utf-8") as stream:
    INVALID = list(csv.DictReader(stream, delimiter="\t"))


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["file"])
def test_an_unclear_policy_is_refused_with_its_reason(case: dict[str, str]) -> None:
    path = DATA / "invalid" / case["file"]
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    error = caught.value
    assert error.code is Code.POLICY_INVALID
    assert str(error).startswith(f"{path}: ")
    assert len(error.issues) == 1
    issue = error.issues[0]
    assert case["field"] in (issue.field, issue.field.split(".")[0])
    assert case["problem"] in issue.problem
    assert case["allowed"] in issue.allowed
    assert issue.problem in str(error)
    assert canonical_json(error.details)


def test_every_invalid_file_is_a_case() -> None:
    assert {case["file"] for case in INVALID} == {path.name for path in (DATA / "invalid").iterdir()}


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("api_version: evalward/v1\nprofile: lax\nlimits: {depth: -1, deep: 1}\n")
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert {issue.field for issue in caught.value.issues} == {"profile", "limits.depth", "limits.deep"}


@pytest.mark.parametrize("path", sorted((DATA / "valid").iterdir()), ids=lambda path: path.name)
def test_valid_files_load(path: Path) -> None:
    assert isinstance(load_policy(path), Policy)


def test_yaml_and_toml_say_the_same() -> None:
    from_yaml = load_policy(DATA / "valid" / "full.yaml")
    from_toml = load_policy(DATA / "valid" / "full.toml")
    assert from_yaml == from_toml
    assert from_yaml.digest == from_toml.digest


def test_a_file_without_wishes_is_the_default_policy() -> None:
    assert load_policy(DATA / "valid" / "minimal.yaml") == Policy.default()
    assert load_policy(DATA / "valid" / "minimal.toml").digest == Policy.default().digest


def test_every_field_reaches_the_rules() -> None:
    policy = load_policy(DATA / "valid" / "full.yaml")
    rules = policy.rules_for(Target.MAIN)
    assert policy.allowed_targets == (Target.MAIN, Target.RENDERER)
    assert rules.allowed
    assert rules.profile is Profile.STRICT
    assert rules.blocklist_mode is BlocklistMode.SUBSTRING
    assert [word.text for word in rules.keywords] == [
        *("process.exit", "eval(", "Function(", "__proto__", "child_process"),
        "launchMissiles(",
    ]
    assert rules.keywords[-1] == Keyword("house-rule", "launchMissiles(")
    assert rules.limits == Limits(payload_bytes=1_048_576, depth=500, nodes_per_64k=50_000, steps=100_000)
    assert dict(rules.actions) == {
        "network": Action.BLOCK,
        "process.umask": Action.ALLOW,
        "electron-lifecycle": Action.AUDIT,
    }
    assert dict(rules.bindings) == {"electronApp": "electron", "arg": "json"}
    assert rules.process_reads == {"title", "argv0"}
    assert rules.env_names == {"CI", "MY_APP_MODE"}
    assert policy.rules_for(Target.RENDERER).actions["electron-lifecycle"] is Action.BLOCK
    assert policy.rules_for(Target.NODE).profile is Profile.SEED


@pytest.mark.parametrize("preset", [("agent", 65_536), ("default", 131_072), ("library", 1_048_576)])
def test_size_presets(tmp_path: Path, preset: tuple[str, int]) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(f'api_version = "evalward/v1"\nlimits.payload_bytes = "{preset[0]}"\n')
    assert load_policy(file).rules_for(Target.MAIN).limits.payload_bytes == preset[1]


def test_a_missing_file_is_a_policy_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.yaml: No such file"):
        load_policy(tmp_path / "none.yaml")


def test_a_directory_is_a_policy_error(tmp_path: Path) -> None:
    (tmp_path / "dir.yaml").mkdir()
    with pytest.raises(PolicyError, match=r"[Dd]irectory|regular file"):
        load_policy(tmp_path / "dir.yaml")


def test_a_pipe_without_a_writer_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(PolicyError, match="not a regular file"):
        load_policy(tmp_path / "pipe.yaml")


def test_an_enormous_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    file.write_text("api_version: evalward/v1\n" + "#" * MAX_FILE_BYTES)
    with pytest.raises(PolicyError, match=f"too large .allowed: {MAX_FILE_BYTES} bytes"):
        load_policy(file)


def test_values_of_the_file_are_not_repeated_in_the_error(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text('api_version: evalward/v1\nlimits: {depth: "s3cret-value"}\nprofile: s3cret-value\n')
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert "s3cret" not in str(caught.value)
