"""Regular expressions: V8 accepts what is accepted here, and what is printed matches what the original matches."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from typing import Any

import pytest
from guard_cases import cases

from evalward.guard.harden.regexp import InvalidRegExpError, pattern_text, regexp_text
from evalward.guard.harden.unicode_properties import BINARY, CATEGORIES, SCRIPTS

NODE = shutil.which("node")
FLAGS = ("", "u", "v", "i", "iu", "g", "y", "v", "u")
SAMPLES = [
    *(
        "",
        "a",
        "ab",
        "aab",
        "b",
        "0",
        "1",
        "a1",
        "aa11",
        "é",
        "😀",
        "😀😀",
        "a😀b",
        "/",
        "<!--",
        "-",
        "--",
        "{",
        "}",
    ),
    *(
        "{1}",
        "A",
        "_",
        "k",
        "\x01",
        "\x00",
        "\t",
        "\n",
        "c",
        "\\c",
        "u0041",
        "41",
        "AA",
        "x4",
        "n",
        "ba-b",
        "&",
        "&&",
    ),
    *(
        ",,",
        "~",
        "#",
        ":",
        "=",
        ">",
        "(",
        ")",
        "[",
        "]",
        "^",
        "u{41}",
        "p{L}",
        "!",
        "!--",
        "β",
        "Z",
        "\b",
        "8",
        "9",
    ),
    *(
        "\x1f",
        "ÿ",
        " 0",
        "abc",
        "d",
        "😂",
        "</script>",
        "\x7f",
        "\xa0",
        "\N{MATHEMATICAL SCRIPT CAPITAL A}" * 2,
        "aaaaaaaaaaa",
        "a8",
        "aa8",
        "--a",
        "b",
    ),
]
SCRIPT = r"""
const [rows, samples] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
samples.push('\ud83d', '\ude00');
const seen = ([pattern, flags, printed]) => {
  let before;
  try { before = new RegExp(pattern, flags); } catch { return 'rejected'; }
  if (printed === null) return 'accepted';
  const after = (0, eval)(`/${printed || '(?:)'}/${flags}`);
  for (const sample of samples) {
    before.lastIndex = after.lastIndex = 0;
    const [one, other] = [before.exec(sample), after.exec(sample)];
    const [left, right] = [one, other].map(found => JSON.stringify([found, found?.index, found?.groups]));
    if (left !== right) return `differs on ${JSON.stringify(sample)}: ${left} ${right}`;
  }
  return 'accepted';
};
console.log(JSON.stringify(rows.map(seen)));
"""


def table(kind: str) -> list[tuple[str, str]]:
    return [(row[0], flags) for row in cases("harden/regexps")[kind] for flags in row[1:]]


def printed(pattern: str, flags: str) -> str | None:
    try:
        return pattern_text(pattern, flags)
    except InvalidRegExpError:
        return None


def node_says(rows: list[tuple[str, str]]) -> list[str]:
    assert NODE is not None
    made = [(pattern, flags, printed(pattern, flags)) for pattern, flags in rows]
    done = subprocess.run(
        [NODE, "-e", SCRIPT],
        input=json.dumps([made, SAMPLES]),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said: list[str] = json.loads(done.stdout)
    return said


def disagreements(rows: list[tuple[str, str]]) -> list[Any]:
    verdicts = ["rejected" if printed(*row) is None else "accepted" for row in rows]
    return [
        (row, here, there)
        for row, here, there in zip(rows, verdicts, node_says(rows), strict=True)
        if here != there
    ]


@pytest.mark.parametrize("kind", ["valid", "newer"])
def test_is_printed_in_ascii_and_safe_in_html(kind: str) -> None:
    for row in table(kind):
        text = printed(*row)
        assert text is not None, row
        assert text.isascii()
        assert text.isprintable()
        assert "<!--" not in text
        assert "</" not in text
        assert printed(text, row[1]) == text  # a fixed point


@pytest.mark.parametrize("kind", ["invalid", "never"])
def test_is_refused_with_a_reason_and_a_place(kind: str) -> None:
    for row in table(kind):
        with pytest.raises(InvalidRegExpError, match=r"[a-z]") as refused:
            pattern_text(*row)
        assert 0 <= refused.value.position <= len(row[0])


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_v8_agrees_on_the_table() -> None:
    rows = table("valid") + table("invalid") + table("never")
    assert disagreements(rows) == []
    assert all(said in {"accepted", "rejected"} for said in node_says(table("newer")))


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_v8_agrees_on_common_properties() -> None:
    """Scripts that are newer than the engine's Unicode are left out."""
    names = sorted(BINARY | CATEGORIES)
    rows = [(f"\\p{{{name}}}", "u") for name in names]
    rows += [(f"\\p{{Script={name}}}", "u") for name in sorted(SCRIPTS) if len(name) > 4]
    differing = disagreements(rows)
    assert all(there == "rejected" for _, _, there in differing)
    assert len(differing) < 20


def random_patterns(seed: int, count: int) -> list[tuple[str, str]]:
    pieces = [*cases("harden/regexps")["pieces"].split(), " ", "\t", "\x01"]
    choose = random.Random(seed)
    rows = []
    for _ in range(count):
        pattern = "".join(choose.choices(pieces, k=choose.randint(1, 7)))
        if choose.random() < 0.4:
            pattern = f"[{pattern}]"
        if choose.random() < 0.2:
            pattern = f"(?<n>a){pattern}"
        rows.append((pattern, choose.choice(FLAGS)))
    return rows


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_v8_agrees_on_random_patterns() -> None:
    assert disagreements(random_patterns(1, 3_000)) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(NODE is None, reason="needs node")
@pytest.mark.parametrize("seed", range(2, 6))
def test_v8_agrees_on_many_random_patterns(seed: int) -> None:
    assert disagreements(random_patterns(seed, 40_000)) == []


def test_a_literal_is_split_at_its_last_slash() -> None:
    assert regexp_text("/a[/]\\/b/gi") == "/a[/]\\/b/gi"


@pytest.mark.parametrize("source", ["//", "/*a*/", "/a\u2028b/", "/a\nb/", "/a/G", "/a/ g", "a/"])
def test_no_literal(source: str) -> None:
    with pytest.raises(InvalidRegExpError):
        regexp_text(source)


def test_costs_are_bounded() -> None:
    assert pattern_text("(a)" * 9_000 + "\\1" * 9_000, "u")
    with pytest.raises(InvalidRegExpError):
        pattern_text("(" * 50_000, "")
    with pytest.raises(InvalidRegExpError):
        pattern_text("[" * 50_000, "v")
    with pytest.raises(InvalidRegExpError):
        pattern_text("\\" + "9" * 50_000, "u")
    assert pattern_text("\\k<" * 20_000, "")
