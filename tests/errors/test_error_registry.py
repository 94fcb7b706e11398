import csv
import importlib.resources
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import grpc
import pytest

from evalward.errors import REGISTRY, Code, ErrorRow

DATA = Path(__file__).parents[1] / "data" / "errors"
LOCK: dict[str, dict[str, object]] = json.loads(
    importlib.resources.files("evalward.errors").joinpath("codes.lock.json").read_text("utf-8")
)
with (DATA / "contract-table.csv").open(encoding="utf-8") as stream:
    TABLE = list(csv.DictReader(stream))


def drift(lock: Mapping[str, Mapping[str, object]], registry: Mapping[Code, ErrorRow]) -> list[str]:
    """Detects changes that break callers: a code, number or retryable that differs from the release."""
    now = {str(row.code): {"number": row.number, "retryable": row.retryable} for row in registry.values()}
    return [
        *(f"{code}: removed" for code in lock.keys() - now.keys()),
        *(f"{code}: add it to codes.lock.json" for code in now.keys() - lock.keys()),
        *(
            f"{code}: {lock[code]} became {now[code]}"
            for code in lock.keys() & now
            if lock[code] != now[code]
        ),
    ]


@pytest.mark.parametrize("expected", TABLE, ids=lambda row: row["code"])
def test_row_is_as_in_the_contract(expected: dict[str, str]) -> None:
    row = REGISTRY[Code(expected["code"])]
    assert expected == {
        "code": str(row.code),
        "number": str(row.number),
        "domain": row.domain,
        "category": row.category.value,
        "cause": row.cause.value,
        "http": str(row.http),
        "grpc_status": row.grpc_status or "",
        "retryable": "yes" if row.retryable else "no",
    }


def test_table_is_whole_and_nothing_else() -> None:
    assert (
        {row["code"] for row in TABLE} == {code.value for code in REGISTRY} == {code.value for code in Code}
    )


def test_released_codes_stay_as_they_were() -> None:
    assert drift(LOCK, REGISTRY) == []


@pytest.mark.parametrize("change", [{"number": 3999}, {"retryable": True}])
def test_lock_notices_a_changed_row(change: dict[str, object]) -> None:
    row = replace(REGISTRY[Code.INTERNAL], **change)  # type: ignore[arg-type]  # a table of fields
    assert len(drift(LOCK, {**REGISTRY, Code.INTERNAL: row})) == 1


def test_lock_notices_a_removed_and_an_added_code() -> None:
    fewer: dict[Code, ErrorRow] = {code: row for code, row in REGISTRY.items() if code is not Code.INTERNAL}
    assert drift(LOCK, fewer) == ["INTERNAL: removed"]
    shorter_lock = {code: entry for code, entry in LOCK.items() if code != "INTERNAL"}
    assert drift(shorter_lock, REGISTRY) == ["INTERNAL: add it to codes.lock.json"]


def test_numbers_are_unique_and_in_their_ranges() -> None:
    numbers = [row.number for row in REGISTRY.values()]
    assert len(numbers) == len(set(numbers))
    for row in REGISTRY.values():
        assert (1000 <= row.number <= 1099) == (row.domain == "common"), row.code
        assert row.number >= 3000 or row.domain == "common", row.code


def test_grpc_statuses_exist() -> None:
    names = {status.name for status in grpc.StatusCode}
    assert {row.grpc_status for row in REGISTRY.values() if row.grpc_status} <= names


def test_only_system_failures_are_retryable() -> None:
    assert [row.code for row in REGISTRY.values() if row.retryable and row.cause != "system"] == []


@pytest.mark.parametrize("row", REGISTRY.values(), ids=lambda row: row.code)
def test_every_row_says_what_to_do(row: ErrorRow) -> None:
    sentences = [row.hint, *row.recovery_hints, *row.next_actions]
    assert row.recovery_hints
    assert row.next_actions
    for sentence in sentences:
        assert sentence.endswith("."), sentence
        assert 15 <= len(sentence) <= 130, sentence
    assert len(sentences) == len(set(sentences))


def test_blocked_construct_hint_says_what_the_contract_says() -> None:
    hint = REGISTRY[Code.EVAL_BLOCKED_CONSTRUCT].hint
    assert hint.startswith("Remove the blocked construct (")
    assert "prefer a granular non-eval tool when possible" in hint


def test_registry_cannot_be_changed() -> None:
    assert isinstance(REGISTRY, MappingProxyType)
