"""Plugins' codes: refused at load when anything is wrong, and whole in every envelope."""

from collections.abc import Iterator
from typing import Any

import pytest

from evalward.errors import (
    CodesRefusedError,
    Meta,
    Provenance,
    define_domain,
    error_envelope,
    register_error_codes,
    unregister_error_codes,
)

GOOD = {
    "number": 4000,
    "category": "UPSTREAM",
    "cause": "system",
    "http": 502,
    "retryable": True,
    "hint": "Sign the build again.",
}
GOOD["category"] = "TRANSPORT"
META = Meta(0, "d" * 32, Provenance("0", "0" * 64, "0" * 12, "tree-sitter-javascript 0.25.0"), audited=False)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for namespace in ("production", "other"):
        try:
            unregister_error_codes(namespace)
        except CodesRefusedError:
            continue


def test_a_registered_code_is_whole_in_an_envelope() -> None:
    names = register_error_codes("production", {"NOTARIZATION_FAILED": {**GOOD, "next_actions": ["Retry."]}})

    envelope = error_envelope("production.NOTARIZATION_FAILED", "Apple refused.", meta=META)

    assert names == ("production.NOTARIZATION_FAILED",)
    shown = {
        key: envelope[key]
        for key in ("code", "number", "domain", "http", "retryable", "hint", "next_actions")
    }
    assert shown == {
        "code": "production.NOTARIZATION_FAILED",
        "number": 4000,
        "domain": "production",
        "http": 502,
        "retryable": True,
        "hint": "Sign the build again.",
        "next_actions": ["Retry."],
    }


def test_an_unregistered_code_has_no_envelope() -> None:
    register_error_codes("production", {"FAILED": GOOD})
    unregister_error_codes("production")

    with pytest.raises(ValueError, match=r"production\.FAILED"):
        error_envelope("production.FAILED", "x", meta=META)
    with pytest.raises(CodesRefusedError):
        unregister_error_codes("production")


@pytest.mark.parametrize(
    ("namespace", "name", "change", "says"),
    [
        ("Production", "FAILED", {}, "namespace"),
        ("a.b", "FAILED", {}, "namespace"),
        ("eval", "FAILED", {}, "in use"),
        ("common", "FAILED", {}, "in use"),
        ("production", "failed", {}, "SCREAMING_SNAKE_CASE"),
        ("production", "A.B", {}, "SCREAMING_SNAKE_CASE"),
        ("production", "INTERNAL", {}, "of the core"),
        ("production", "FAILED", {"number": 3999}, "number"),
        ("production", "FAILED", {"number": True}, "number"),
        ("production", "FAILED", {"category": "PLUGIN"}, "category"),
        ("production", "FAILED", {"cause": "nobody"}, "cause"),
        ("production", "FAILED", {"http": 200}, "http"),
        ("production", "FAILED", {"retryable": "yes"}, "retryable"),
        ("production", "FAILED", {"hint": " "}, "hint"),
        ("production", "FAILED", {"next_actions": "one"}, "next_actions"),
        ("production", "FAILED", {"colour": "red"}, "colour"),
    ],
)
def test_a_bad_definition_is_refused(namespace: str, name: str, change: dict[str, Any], says: str) -> None:
    with pytest.raises(CodesRefusedError, match=says):
        register_error_codes(namespace, {name: {**GOOD, **change}})


@pytest.mark.parametrize("field", GOOD)
def test_a_missing_field_is_refused(field: str) -> None:
    with pytest.raises(CodesRefusedError, match=field):
        register_error_codes("production", {"FAILED": {key: GOOD[key] for key in GOOD if key != field}})


def test_collisions_are_refused_and_leave_nothing_behind() -> None:
    register_error_codes("production", {"FAILED": GOOD})

    with pytest.raises(CodesRefusedError, match="in use"):
        register_error_codes("production", {"LATER": {**GOOD, "number": 4001}})
    with pytest.raises(CodesRefusedError, match="4000 is in use"):
        register_error_codes("other", {"GOOD": {**GOOD, "number": 4001}, "TAKEN": GOOD})
    register_error_codes("other", {"GOOD": {**GOOD, "number": 4001}})


def test_a_domain_numbers_its_codes_without_gaps_and_makes_their_errors() -> None:
    definition = {key: value for key, value in GOOD.items() if key != "number"}

    domain = define_domain("production", range(4100, 4200), {"FIRST": definition, "SECOND": definition})

    assert [row.number for row in domain.rows.values()] == [4100, 4101]
    error = domain.error("SECOND", "It failed.", details={"step": 2})
    assert error.envelope(META)["number"] == 4101
    with pytest.raises(KeyError):
        domain.error("THIRD", "x")


@pytest.mark.parametrize("numbers", [range(4000, 4001), range(4000, 4010, 2)])
def test_a_range_that_is_too_short_or_has_gaps_is_refused(numbers: range) -> None:
    definition = {key: value for key, value in GOOD.items() if key != "number"}

    with pytest.raises(CodesRefusedError, match="without gaps"):
        define_domain("production", numbers, {"FIRST": definition, "SECOND": definition})
