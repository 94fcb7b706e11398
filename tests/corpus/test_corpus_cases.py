"""Reading cases: the format of a file, and the errors for an invalid one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evalward.corpus.corpus_case import Case, CorpusError, Expectation, load_cases
from evalward.guard.target import Profile, Shape, Target

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "{id: a/b/c, code: x, target: main, expect: allow}"
REFUSED = {
    "unknown-field.yaml": (
        "- {id: a, code: x, target: main, expect: allow, cod: y}",
        ["a", "cod", "unknown", "shape"],
    ),
    "missing-field.yaml": ("- {id: a, code: x, target: main}", ["case 1 (a)", "expect", "required"]),
    "bad-target.yaml": (
        "- {id: a, code: x, target: mian, expect: allow}",
        ["target", "mian", "renderer", "page"],
    ),
    "bad-shape.yaml": ("- {id: a, code: x, target: main, shape: f, expect: allow}", ["shape", "async_body"]),
    "bad-expect.yaml": ("- {id: a, code: x, target: main, expect: deny}", ["expect", "block", "allow"]),
    "bad-profile.yaml": ("- {id: a, code: x, target: main, expect: {lax: allow}}", ["expect", "balanced"]),
    "no-profile.yaml": ("- {id: a, code: x, target: main, expect: {}}", ["expect"]),
    "number-as-code.yaml": ("- {id: a, code: 1, target: main, expect: allow}", ["code"]),
    "control-in-id.yaml": ('- {id: "a\\eb", code: x, target: main, expect: allow}', ["id", "printable"]),
    "twice.yaml": (f"- {GOOD}\n- {GOOD}", ["case 2", "a/b/c", "already used", "case 1"]),
    "field-twice.yaml": ("- {id: a, code: x, code: y, target: main, expect: allow}", ["not YAML", "twice"]),
    "not-yaml.yaml": ("- {id: a", ["not YAML", "line 1"]),
    "not-a-list.yaml": ("id: a", ["list of cases"]),
    "not-a-mapping.yaml": ("- 1", ["case 1", "mapping", "target"]),
    "unsafe-tag.yaml": ("- !!python/object/apply:os.getcwd []", ["not YAML"]),
    "empty.yaml": ("[]", ["no case found", ".jsonl"]),
    "not-json.jsonl": ('{"id": "a"', ["line 1", "JSON"]),
    "field-twice.jsonl": ('{"id": "a", "id": "b"}', ["line 1", "twice"]),
    "cases.txt": (f"- {GOOD}", ["not a corpus file", ".yaml"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_corpus_that_cannot_be_used_is_refused(tmp_path: Path, name: str) -> None:
    text, said = REFUSED[name]
    (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(CorpusError) as caught:
        load_cases([tmp_path / name])

    assert [
        part for part in [name if "empty" not in name else "", *said] if part not in str(caught.value)
    ] == []


def test_a_path_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nowhere: no such file"):
        load_cases([tmp_path / "nowhere"])


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"- \xff")

    with pytest.raises(CorpusError, match="cannot be read"):
        load_cases([tmp_path])


def test_directories_are_read_recursively_and_once(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "z.jsonl").write_text(
        json.dumps({"id": "two", "code": "y", "target": "page", "expect": "block"}) + "\n\n", encoding="utf-8"
    )
    (tmp_path / "a.yaml").write_text(f"- {GOOD}", encoding="utf-8")
    (tmp_path / "README.md").write_text("no case", encoding="utf-8")

    cases = load_cases([tmp_path, tmp_path / "a.yaml"])

    assert [case.id for case in cases] == ["a/b/c", "two"]
    assert Target.RENDERER is cases[1].target


def test_a_line_separator_inside_a_json_string_does_not_end_the_line(tmp_path: Path) -> None:
    case = {"id": "ls", "code": "a\u2028b", "target": "main", "expect": "allow"}
    (tmp_path / "a.jsonl").write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")

    assert load_cases([tmp_path])[0].code == "a\u2028b"


def test_every_field_is_kept() -> None:
    case = Case.model_validate(
        {
            "id": "a/b",
            "code": "\ud800",
            "target": "node",
            "shape": "function",
            "expect": {"balanced": "block", "seed": "allow"},
            "construct": ["eval()", "process.exit"],
            "reaches": "codegen",
            "twin": "a/c",
            "source": "evalward",
            "technique": "alias",
            "bindings": {"page": "playwright.page"},
        }
    )

    assert case.payload == b"\xed\xa0\x80"
    assert (case.target, case.shape) == (Target.NODE, Shape.FUNCTION)
    assert case.constructs == ("eval()", "process.exit")
    assert [case.expected(profile) for profile in Profile] == [Expectation.BLOCK, None, Expectation.ALLOW]


def test_one_expectation_holds_for_every_profile() -> None:
    case = Case.model_validate({"id": "a", "code": "", "target": "main", "expect": "block"})

    assert {Expectation.BLOCK} == {case.expected(profile) for profile in Profile}
