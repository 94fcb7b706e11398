"""Every label in the catalogue is a construct."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pytest

from evalward.guard.catalogue.entries import ENVIRONMENTS
from evalward.guard.constructs import CONSTRUCTS, construct_of
from evalward.guard.rules import Action

DOCUMENTS = {
    name: tomllib.loads((resources.files("evalward.guard.catalogue") / f"{name}.toml").read_text("utf-8"))
    for name in (*ENVIRONMENTS, "switched")
}


def labels_of(document: dict[str, Any]) -> set[str]:
    tables = [table for table in document.values() if isinstance(table, dict)]
    denied = {label.replace("*", "member") for table in tables for label in table.get("deny", {})}
    return denied | {table["label"] for table in tables if "label" in table}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_label_in_the_catalogue_is_a_construct(name: str) -> None:
    assert {label for label in labels_of(DOCUMENTS[name]) if construct_of(label) is None} == set()


def test_every_group_that_policy_may_switch_on_is_a_construct_that_is_off_by_default() -> None:
    for label in DOCUMENTS["switched"].keys() - {"data"}:
        assert CONSTRUCTS[label].default is Action.ALLOW
