from __future__ import annotations

from typing import Any

from guard_cases import front_end, over, verdict

from evalward.codes import Code
from evalward.guard.rules import SEED_KEYWORDS
from evalward.guard.syntax.shapes import Rejection


@over("syntax/ambiguities")
def test_a_text_that_v8_reads_otherwise_is_rejected_by_name(case: dict[str, Any]) -> None:
    found = verdict(case["code"], shape=case.get("shape"))
    assert (found.code, found.construct) == (Code.EVAL_BLOCKED_CONSTRUCT, "parser-ambiguity")
    assert found.location is not None
    assert not any(word in case["code"] for word in SEED_KEYWORDS)


@over("syntax/ambiguities")
def test_its_benign_twin_passes_the_front_end(case: dict[str, Any]) -> None:
    assert not isinstance(front_end(case["twin"], shape=case.get("shape")), Rejection)


@over("syntax/accepted")
def test_code_that_only_looks_ambiguous_passes_the_front_end(case: dict[str, Any]) -> None:
    assert not isinstance(front_end(case["code"]), Rejection)


@over("syntax/ambiguities")
def test_the_same_place_is_named_every_time(case: dict[str, Any]) -> None:
    # A query's nodes come ordered by their addresses: what is kept moves them about.
    kept = [verdict(case["code"], shape=case.get("shape")) for _ in range(20)]
    assert len({each.location for each in kept}) == 1


@over("syntax/accepted")
def test_what_passes_passes_every_time(case: dict[str, Any]) -> None:
    kept = [front_end(case["code"]) for _ in range(20)]
    assert not any(isinstance(each, Rejection) for each in kept)
