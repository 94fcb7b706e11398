"""What is not looked at: the fast paths never change a verdict, and say what they take to be ordinary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from guard_cases import cases, over, verdict
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Tree

from evalward.guard.rules import Limits
from evalward.guard.screen.mentions import are_harmless
from evalward.guard.screen.quiet import is_quiet
from evalward.guard.screen.triggers import names_something, words_in
from evalward.guard.sinks import sinks
from evalward.guard.syntax.parse import parse
from evalward.guard.syntax.program import ParsedProgram
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.syntax.survey import survey
from evalward.guard.target import Shape, parse_target

if TYPE_CHECKING:
    from evalward.guard.verdict import Verdict

ROOT = Path(__file__).parents[3]
CORPUS = sorted((ROOT / "corpus").rglob("*.yaml"))
PAYLOADS = sorted((ROOT / "benchmarks" / "payloads").glob("ordinary*/*.js"))
PIECES = cases("screen/pieces")


def _unhurried(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch, profile: str) -> Verdict:
    """Judge with every shortcut taken away."""
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["evalward.guard.pipeline"], "is_quiet", lambda *_, **__: False)
        patch.setattr(sys.modules["evalward.guard.resolve"], "is_loaded", lambda *_, **__: True)
        return _judged(case, profile)


def _judged(case: dict[str, Any], profile: str) -> Verdict:
    sink = case.get("sink")
    target = sinks()[sink].target if sink else parse_target(case["target"])
    return verdict(case["code"], shape=case.get("shape"), profile=profile, target=target, sink=sink)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("path", CORPUS, ids=[f"{path.parent.name}/{path.stem}" for path in CORPUS])
def test_the_fast_path_answers_as_the_resolver_would(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = ("balanced", "strict") if path.parent.name == "escapes" else ("balanced",)
    for case in yaml.safe_load(path.read_text(encoding="utf-8")):
        for profile in profiles:
            fast = _judged(case, profile)
            if fast.allowed:
                slow = _unhurried(case, monkeypatch, profile)
                assert (slow.code, slow.construct) == (None, None), case["id"]


@pytest.mark.parametrize("path", PAYLOADS, ids=[f"{path.parent.name}/{path.stem}" for path in PAYLOADS])
def test_ordinary_code_is_quiet(path: Path) -> None:
    programs = programs_of(path.read_bytes(), None, limit_bytes=131_072)
    assert not isinstance(programs, Rejection)
    assert all(is_quiet(program, Limits()) for program in programs)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(list(Shape)))
def test_what_is_quiet_has_nothing_for_the_survey_to_find(code: str, shape: Shape) -> None:
    programs = programs_of(code.encode(), shape, limit_bytes=131_072)
    for program in () if isinstance(programs, Rejection) else programs:
        if is_quiet(program, Limits()):
            seen = survey(program, Limits())
            if isinstance(seen, Rejection):
                # Braces that are an object in one reading and a block in the other, with the same tokens in them.
                assert seen.construct == "parser-ambiguity"
                continue
            flags = {name: getattr(seen, name) for name in seen.__slots__ if name not in ("nodes", "opaque")}
            assert not any(flags.values()), flags


@over("syntax/ambiguities")
def test_no_ambiguity_is_quiet(case: dict[str, Any]) -> None:
    shape = Shape(case["shape"]) if case.get("shape") else None
    programs = programs_of(case["code"].encode(), shape, limit_bytes=131_072)
    if not isinstance(programs, Rejection):
        assert not all(is_quiet(program, Limits()) for program in programs)


@over("screen/mentions")
def test_a_word_is_forgiven_only_where_it_names_no_capability(case: dict[str, Any]) -> None:
    for code in case.get("quiet", ()):
        assert not names_something(code.encode(), words_in(code.encode())), code
    for code in case.get("loud", ()):
        assert names_something(code.encode(), words_in(code.encode())), code


def test_only_words_with_a_known_harmless_place_are_forgiven() -> None:
    words = frozenset({b"process"})
    assert not are_harmless(b"'process'", words, words)


@pytest.mark.parametrize(
    "code", ["a" + "+1" * 70_000 + ";b[k]", "b[k];" + "a;" * 40_000, "a" + "[k]" * 30_000]
)
def test_no_node_of_a_large_tree_is_out_of_sight(code: str) -> None:
    source = code.encode()
    tree = parse(source, limit_bytes=1 << 20)
    assert isinstance(tree, Tree)
    program = ParsedProgram((Shape.SCRIPT,), source, tree, 0, len(source), tuple(tree.root_node.children))
    limits = Limits(payload_bytes=1 << 20, nodes_per_64k=1 << 20, depth=1 << 20)
    seen = survey(program, limits)
    assert not isinstance(seen, Rejection)
    assert seen.dynamic_subscript
    assert not is_quiet(program, limits)
