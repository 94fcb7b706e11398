from __future__ import annotations

from dataclasses import replace
from typing import Any

from guard_cases import RULES, over, verdict

from evalward.codes import Code
from evalward.guard.rules import BlocklistMode, Keyword

SUBSTRING = replace(RULES, blocklist_mode=BlocklistMode.SUBSTRING)


@over("admission/blocklist")
def test_an_occurrence_counts_unless_the_tree_shows_that_it_is_harmless(case: dict[str, Any]) -> None:
    found = verdict(case["code"])
    if case["keyword"] is None:
        assert found.code is not Code.EVAL_BLOCKED_KEYWORD
    else:
        assert (found.code, found.keyword) == (Code.EVAL_BLOCKED_KEYWORD, case["keyword"])
        assert found.location is not None
        assert "blocklist" in found.message


def test_mode_substring_counts_every_occurrence() -> None:
    assert verdict("page.$eval('a', f) // eval(", rules=SUBSTRING).keyword == "eval("


def test_every_occurrence_counts_when_the_payload_does_not_parse() -> None:
    assert verdict("'eval(' ((").code is Code.EVAL_BLOCKED_KEYWORD


def test_an_added_word_counts_in_strings_and_is_named_by_its_id_alone() -> None:
    rules = replace(RULES, keywords=(Keyword("house-1", "secretWord"),))
    found = verdict("x['secretWord']", rules=rules)
    assert (found.code, found.keyword) == (Code.EVAL_BLOCKED_KEYWORD, "house-1")
    assert "secretWord" not in found.message
    assert verdict("secretWords", rules=rules).allowed
    assert verdict("1 // secretWord", rules=rules).allowed
