"""Plugins' codes: rejected at load when anything is invalid, and complete in every envelope."""

from collections.abc import Iterator
from typing import Any

import pytest

from evalward.adapters import to_jsonrpc_error
from evalward.errors import (
    CodedError,
    CodesRefusedError,
    Meta,
    Provenance,
    UnknownSymbolError,
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


DEFINITIONS: dict[str, dict[str, Any]] = {
    "FILE_NOT_FOUND": {"message": "There is no such file.", "http": 404, "cause": "caller"},
    "FULL": {"message": "The store is full.", "category": "UPSTREAM", "hint": "Delete an entry."},
}


def test_a_domain_numbers_its_codes_without_gaps_and_makes_their_errors() -> None:
    domain = define_domain("production", range(4100, 4200), DEFINITIONS)

    assert [row.number for row in domain.rows.values()] == [4100, 4101]
    plain = domain.error("FULL").envelope(META)
    shown = {key: plain[key] for key in ("code", "error", "number", "category", "http", "hint", "retryable")}
    assert shown == {
        "code": "production.FULL",
        "error": "The store is full.",
        "number": 4101,
        "category": "UPSTREAM",
        "http": 500,
        "hint": "Delete an entry.",
        "retryable": False,
    }
    other = domain.error("FULL", "2 of 2 entries.", details={"entries": 2}, retryable=True).envelope(META)
    assert (other["error"], other["retryable"], other["details"]) == ("2 of 2 entries.", True, {"entries": 2})


def test_an_unknown_symbol_is_named_with_those_that_there_are() -> None:
    domain = define_domain("production", range(4100, 4200), DEFINITIONS)

    with pytest.raises(UnknownSymbolError) as caught:
        domain.error("FULLL")

    assert (
        str(caught.value)
        == "'FULLL' is no error symbol of the domain production; it has FILE_NOT_FOUND, FULL"
    )


def test_the_whole_range_is_the_domains_until_it_is_unregistered() -> None:
    define_domain("production", range(4100, 4200), DEFINITIONS)

    with pytest.raises(CodesRefusedError, match="4150 to 4249 overlaps 4100 to 4199 of production"):
        define_domain("other", range(4150, 4250), DEFINITIONS)
    with pytest.raises(CodesRefusedError, match="4199 is in use: production holds its range"):
        register_error_codes("other", {"FAILED": {**GOOD, "number": 4199}})
    unregister_error_codes("production")
    define_domain("other", range(4150, 4250), DEFINITIONS)


def test_a_range_with_a_number_in_use_is_refused() -> None:
    register_error_codes("production", {"FAILED": {**GOOD, "number": 4105}})

    with pytest.raises(CodesRefusedError, match="4105 is in use"):
        define_domain("other", range(4100, 4110), DEFINITIONS)


@pytest.mark.parametrize("numbers", [range(4000, 4001), range(4000, 4010, 2), range(2500, 2600)])
def test_a_range_that_is_too_short_reserved_or_has_gaps_is_refused(numbers: range) -> None:
    with pytest.raises(CodesRefusedError, match=r"without gaps|malformed number"):
        define_domain("production", numbers, DEFINITIONS)


@pytest.mark.parametrize(
    "change", [{"message": ""}, {"message": None}, {"number": 4000}, {"category": "NONE"}, {"retryable": 1}]
)
def test_a_bad_definition_of_a_domain_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(CodesRefusedError, match=r"production\.FULL"):
        define_domain("production", range(4100, 4200), {"FULL": {**DEFINITIONS["FULL"], **change}})


@pytest.mark.parametrize(("category", "number"), [("UPSTREAM", -32002), ("PROTOCOL", -32000)])
def test_a_plugin_may_have_the_categories_that_the_core_has_no_use_for(category: str, number: int) -> None:
    domain = define_domain(
        "production", range(4100, 4200), {"FAILED": {"message": "No.", "category": category}}
    )

    error: Any = to_jsonrpc_error(domain.error("FAILED").envelope(META))

    assert (error["code"], error["data"]["type"]) == (number, category)


def test_nobody_overrides_whether_a_code_of_the_core_is_retryable() -> None:
    with pytest.raises(ValueError, match="is defined by the registry"):
        CodedError("INTERNAL", "No.", retryable=True).envelope(META)
