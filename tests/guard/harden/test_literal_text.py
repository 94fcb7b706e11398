"""Literals: V8 gives what is printed the value that it gives the original."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from guard_cases import cases
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Parser

from evalward.guard.harden import literal_text as text
from evalward.guard.harden.regexp import regexp_text
from evalward.guard.syntax.grammar import LANGUAGE, kinds
from evalward.guard.syntax.landmarks import landmarks

CORPUS = Path(__file__).parents[3] / "corpus" / "benign"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs node")
SCRIPT = r"""
const units = value => typeof value === 'string' ? [...Array(value.length).keys()].map(i => value.charCodeAt(i))
  : Object.is(value, -0) ? '-0' : `${typeof value} ${value}`;
const run = code => { try { return units((0, eval)(code)); } catch { return null; } };
console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).map(run)));
"""


def table(kind: str) -> list[str]:
    rows = cases("harden/literals")[kind]
    return rows.split() if isinstance(rows, str) else rows


def values(codes: list[str]) -> list[Any]:
    """Return what V8 gives the expressions: code units of strings, the text of other values, None for an error."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, "-e", SCRIPT], input=json.dumps(codes), capture_output=True, text=True, check=True, timeout=60
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def same(originals: list[str], printed: list[str]) -> None:
    before, after = values(originals), values(printed)
    assert None not in before
    assert before == after
    for code in printed:
        assert code.isascii()
        assert code.isprintable()
        assert "</" not in code
        assert "<!" not in code


@needs_node
@pytest.mark.parametrize("kind", ["strings", "octal_strings"])
def test_strings_keep_their_value(kind: str) -> None:
    rows = table(kind)
    decoded = [text.decoded_string(row.strip().encode()) for row in rows]
    assert {each.octal for each in decoded} == {kind == "octal_strings"}
    same(rows, [text.string_text(each.value) for each in decoded])


@needs_node
def test_strict_code_rejects_just_the_legacy_escapes() -> None:
    rows = table("strings") + table("octal_strings")
    strict = [f"'use strict'; ({row}\n)" for row in rows]
    assert [value is None for value in values(strict)] == [
        text.decoded_string(row.strip().encode()).octal for row in rows
    ]


@needs_node
def test_bad_strings_are_refused() -> None:
    rows = table("bad_strings")
    for row in rows:
        with pytest.raises(text.InvalidLiteralError):
            text.decoded_string(row.encode())
    assert set(map(str, values(rows))) == {"None"}


@needs_node
@pytest.mark.parametrize("kind", ["templates", "uncooked_templates"])
def test_templates_keep_both_values(kind: str) -> None:
    rows = table(kind)
    chunks = [text.template_chunk(row.encode()) for row in rows]
    assert {chunk.cooked is None for chunk in chunks} == {kind == "uncooked_templates"}
    same([f"(p => p.raw[0])`{row}`" for row in rows], [text.string_text(chunk.raw) for chunk in chunks])
    same(
        [f"(p => p[0])`{row}`" for row in rows],
        ["void 0" if chunk.cooked is None else text.string_text(chunk.cooked) for chunk in chunks],
    )


@needs_node
@pytest.mark.parametrize("kind", ["numbers", "legacy_numbers"])
def test_numbers_keep_their_value_and_key(kind: str) -> None:
    rows = table(kind)
    assert {text.number(row).legacy for row in rows} == {kind == "legacy_numbers"}
    same(rows, [text.number_text(row) for row in rows])
    same(
        [f"Object.keys({{{row}: 1}})[0]" for row in rows],
        [text.string_text(text.number_key(row)) for row in rows],
    )


@needs_node
def test_bigints_keep_their_value_and_key() -> None:
    rows = table("bigints")
    same(rows, [text.bigint_text(row) for row in rows])
    same(
        [f"Object.keys({{{row}: 1}})[0]" for row in rows],
        [text.string_text(text.number_key(row)) for row in rows],
    )


@pytest.mark.parametrize("row", table("bad_numbers"))
def test_bad_numbers_are_refused(row: str) -> None:
    with pytest.raises(text.InvalidLiteralError):
        text.number(row)


@pytest.mark.parametrize("row", table("bad_bigints"))
def test_bad_bigints_are_refused(row: str) -> None:
    with pytest.raises(text.InvalidLiteralError):
        text.bigint_text(row)


def test_a_bigint_key_beyond_the_digits_that_python_converts_is_refused() -> None:
    with pytest.raises(text.InvalidLiteralError):
        text.number_key("1" * 5_000 + "n")


@needs_node
def test_names_keep_their_spelling() -> None:
    rows = table("names")
    names = [text.name(row.encode()) for row in rows]
    assert [name.escaped for name in names] == ["\\" in row for row in rows]
    same(
        [f"Object.keys({{{row}: 1}})[0]" for row in rows],
        [f"Object.keys({{{text.name_text(name.text)}: 1}})[0]" for name in names],
    )
    assert text.name(b"#\\u0061") == text.Name("#a", escaped=True)


@needs_node
def test_bad_names_are_refused() -> None:
    rows = table("bad_names")
    for row in rows:
        with pytest.raises(text.InvalidLiteralError):
            text.name(row.encode())
    assert set(map(str, values([f"({{{row}: 1}})" for row in rows]))) == {"None"}


def corpus_literals() -> dict[str, set[str]]:
    """Return the texts of the literals of every benign program, by kind."""
    found: dict[str, set[str]] = {"string": set(), "number": set(), "template_string": set(), "regex": set()}
    wanted = kinds(*found)
    for path in sorted(CORPUS.glob("*.yaml")):
        for row in yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader):
            source = row.get("code", "").encode()
            for node in landmarks(Parser(LANGUAGE).parse(source).root_node, wanted):
                literal = source[node.start_byte : node.end_byte].decode()
                if not node.has_error and not (node.type == "template_string" and "${" in literal):
                    found[node.type].add(literal)
    return found


@needs_node
@pytest.mark.exhaustive
def test_the_literals_of_the_corpus_keep_their_value() -> None:
    found = corpus_literals()
    strings = [
        (row, text.decoded_string(row.encode()).value) for row in sorted(found["string"]) if "\n" not in row
    ]
    assert len(strings) > 2_000
    same([row for row, _ in strings], [text.string_text(value) for _, value in strings])
    numbers = [row for row in sorted(found["number"]) if not text.is_bigint(row)]
    same(numbers, [text.number_text(row) for row in numbers])
    templates = sorted(found["template_string"])
    cooked = [text.template_chunk(row[1:-1].encode()).cooked for row in templates]
    same(templates, ["null.x" if value is None else text.string_text(value) for value in cooked])
    patterns = sorted(found["regex"])
    assert len(patterns) > 150
    probe = "(r => ['a', 'A1', '-', 'x/y', '<b>', '  z', '2024-01-02'].map(s => s.replace(r, '#')).join() + r.flags)"
    same([f"{probe}({row})" for row in patterns], [f"{probe}({regexp_text(row)})" for row in patterns])


@given(st.text())
def test_a_printed_string_decodes_to_itself(value: str) -> None:
    printed = text.string_text(value)
    assert printed.isascii()
    assert text.decoded_string(printed.encode()) == text.DecodedString(value, octal=False)


@needs_node
def test_every_bmp_code_unit_survives() -> None:
    """Lone surrogates are among them."""
    every = [chr(unit) for unit in range(0x10000)]
    printed = "+".join(text.string_text("x".join(every[at : at + 256])) for at in range(0, 0x10000, 256))
    expected = [ord(char) for at in range(0, 0x10000, 256) for char in "x".join(every[at : at + 256])]
    assert values([printed]) == [expected]
