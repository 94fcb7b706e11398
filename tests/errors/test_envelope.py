import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalward.errors import (
    REGISTRY,
    Code,
    CodedError,
    ErrorRow,
    Meta,
    NotJsonError,
    Provenance,
    Repair,
    canonical_json,
    error_envelope,
    estimate_tokens,
    success_envelope,
)

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
META = Meta(elapsed_ms=1.23456, decision_id="d1", provenance=PROVENANCE, audited=True)
META_KEYS = {"estimated_tokens", "elapsed_ms", "provenance", "decision_id", "audited", "would_block"}
ERROR_KEYS = {
    *("ok", "error", "code", "hint", "next_actions", "retryable", "http", "_meta"),
    *("number", "domain", "category", "cause", "recovery_hints"),
}


@pytest.mark.parametrize("row", REGISTRY.values(), ids=lambda row: row.code)
def test_error_envelope_mirrors_its_row(row: ErrorRow) -> None:
    envelope = error_envelope(row.code, "It failed.", meta=META)
    assert envelope.keys() == ERROR_KEYS
    assert envelope["ok"] is False
    assert envelope["error"] == "It failed."
    mirrored = ("number", "domain", "http", "retryable", "hint")
    assert [envelope[name] for name in mirrored] == [getattr(row, name) for name in mirrored]
    assert (envelope["code"], envelope["category"], envelope["cause"]) == (row.code, row.category, row.cause)
    assert envelope["recovery_hints"] == list(row.recovery_hints)
    assert envelope["next_actions"] == list(row.next_actions)


def test_success_envelope_has_its_fields_and_meta() -> None:
    envelope = success_envelope({"target": "main"}, meta=META)
    assert list(envelope) == ["ok", "target", "_meta"]
    assert envelope["ok"] is True


def test_meta_says_where_the_answer_comes_from() -> None:
    meta = error_envelope(Code.INTERNAL, "x", meta=META)["_meta"]
    assert isinstance(meta, dict)
    assert meta.keys() == META_KEYS
    assert meta["elapsed_ms"] == 1.235
    assert (meta["decision_id"], meta["audited"], meta["would_block"]) == ("d1", True, [])
    assert meta["provenance"] == {
        "service_version": "0.1.0",
        "policy_digest": "a" * 64,
        "ruleset_digest": "b" * 12,
        "grammar_version": "tree-sitter-javascript 0.25.0",
    }


def test_session_id_is_there_only_when_there_is_a_session() -> None:
    meta = Meta(0, "d1", PROVENANCE, audited=False, session_id="s1", would_block=({"construct": "with"},))
    block = success_envelope({}, meta=meta)["_meta"]
    assert isinstance(block, dict)
    assert block.keys() == {*META_KEYS, "session_id"}
    assert (block["session_id"], block["would_block"]) == ("s1", [{"construct": "with"}])


def test_a_call_may_override_the_words() -> None:
    envelope = error_envelope(
        Code.TOOL_UNKNOWN,
        "No tool is called evl.",
        meta=META,
        hint="Spell it out.",
        recovery_hints=["Look again."],
        next_actions=[],
        similar_refs=["eval_main"],
    )
    assert envelope["hint"] == "Spell it out."
    assert envelope["recovery_hints"] == ["Look again."]
    assert "next_actions" not in envelope
    assert envelope["similar_refs"] == ["eval_main"]


def test_only_the_repair_fields_that_apply_are_in_details() -> None:
    repair = Repair(field="/profile", allowed=("strict",))
    envelope = error_envelope(Code.INVALID_INPUT, "x", meta=META, repair=repair, details={"a": 1})
    assert envelope["details"] == {"field": "/profile", "allowed": ["strict"], "a": 1}


def test_details_and_repair_fields_may_not_compete() -> None:
    with pytest.raises(ValueError, match="both give field"):
        error_envelope(Code.INVALID_INPUT, "x", meta=META, repair=Repair(field="/a"), details={"field": "b"})


@pytest.mark.parametrize("details", [{"a": b"bytes"}, {"a": {1: 2}}, {"a": float("nan")}, {"a": {1, 2}}])
def test_details_that_are_not_json_fail_loudly(details: dict[str, object]) -> None:
    with pytest.raises(NotJsonError, match="details"):
        error_envelope(Code.INTERNAL, "x", meta=META, details=details)


def test_an_envelope_does_not_share_its_details_with_the_caller() -> None:
    trace = ["one"]
    envelope = error_envelope(Code.INTERNAL, "x", meta=META, details={"trace": trace})
    trace.append("two")
    assert envelope["details"] == {"trace": ["one"]}


def test_an_error_needs_a_message_and_success_keeps_its_discriminator() -> None:
    with pytest.raises(ValueError, match="needs a message"):
        error_envelope(Code.INTERNAL, "", meta=META)
    with pytest.raises(ValueError, match="may not replace _meta, ok"):
        success_envelope({"ok": False, "_meta": {}}, meta=META)


@given(st.dictionaries(st.text(), st.text() | st.integers(), min_size=1))
def test_estimate_is_a_quarter_of_the_characters_rounded_up(body: dict[str, object]) -> None:
    envelope = success_envelope({f"field {key}": value for key, value in body.items()}, meta=META)
    meta = envelope.pop("_meta")
    assert isinstance(meta, dict)
    characters = len(canonical_json(envelope).decode())
    assert meta["estimated_tokens"] == estimate_tokens(envelope) == (characters + 3) // 4


def test_estimate_counts_nothing_as_nothing() -> None:
    assert estimate_tokens({}) == 0
    assert estimate_tokens({"": 0}) == 2


def test_characters_are_counted_and_not_bytes() -> None:
    assert estimate_tokens({"a": "é" * 8}) == estimate_tokens({"a": "e" * 8})


def test_meta_does_not_count_into_its_own_estimate() -> None:
    long = Meta(0, "d" * 4000, PROVENANCE, audited=True)
    block = success_envelope({}, meta=long)["_meta"]
    assert isinstance(block, dict)
    assert block["estimated_tokens"] == estimate_tokens({"ok": True})


def test_coded_error_becomes_its_envelope() -> None:
    error = CodedError(Code.MISSING_FIELD, "target is missing", repair=Repair(required=["target"]))
    envelope = error.envelope(META)
    assert (envelope["code"], envelope["error"]) == ("MISSING_FIELD", "target is missing")
    assert envelope["details"] == {"required": ["target"]}
    assert str(error) == "target is missing"


def test_canonical_bytes_are_the_whole_envelope() -> None:
    envelope = error_envelope(Code.INTERNAL, "ä", meta=META)
    assert json.loads(canonical_json(envelope)) == envelope
