"""The self-repair fields: each has one type, and every error that needs them has them."""

import ast
from pathlib import Path
from typing import Any

import pytest

from evalward.errors import Range, Repair, pointer

SOURCE = Path(__file__).parents[2] / "src" / "evalward"
REPAIRED = {"INVALID_INPUT", "MISSING_FIELD", "UNSUPPORTED_OPTION", "STRICT_CONSTANT_OVERRIDE"}
# A client's own errors, about its caller or about an unreadable reply, are not errors of a request.
NOT_ABOUT_A_REQUEST = {"client", "mcp"}
MAKERS = {"CodedError", "error_envelope", "__init__"}


def test_every_field_has_its_type() -> None:
    every = Repair(
        field="/a/b",
        allowed=("x",),
        required=["/a"],
        range=Range(1, 2.5),
        limit="depth",
        limit_value=3,
        actual=4,
        pattern="[a-z]+",
        types=["string"],
    )

    assert every.as_json() == {
        "field": "/a/b",
        "allowed": ["x"],
        "required": ["/a"],
        "range": {"minimum": 1, "maximum": 2.5},
        "limit": "depth",
        "limit_value": 3,
        "actual": 4,
        "pattern": "[a-z]+",
        "types": ["string"],
    }
    assert Repair().as_json() == {}
    assert Repair(allowed=[]).as_json() == {"allowed": []}
    assert Range(maximum=0).as_json() == {"maximum": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"field": "limits.depth"},
        {"field": "code"},
        {"field": "/a~2"},
        {"allowed": "main"},
        {"allowed": 3},
        {"allowed": [3]},
        {"required": "target"},
        {"types": ["a string"]},
        {"types": "string"},
        {"limit": "depth"},
        {"limit_value": 3},
        {"limit": "the depth", "limit_value": 3},
    ],
)
def test_a_field_of_another_type_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Repair(**fields)


@pytest.mark.parametrize("bounds", [(None, None), (2, 1), (float("nan"), None), (0, float("inf"))])
def test_a_range_that_is_none_is_refused(bounds: tuple[float | None, float | None]) -> None:
    with pytest.raises(ValueError, match="no range"):
        Range(*bounds)


def test_pointers_escape_what_rfc_6901_escapes() -> None:
    assert pointer() == ""
    assert pointer("a/b", 0, "c~d") == "/a~1b/0/c~0d"


@pytest.mark.exhaustive
def test_no_producer_of_these_codes_leaves_the_fields_out() -> None:
    without = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in NOT_ABOUT_A_REQUEST
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", "")) in MAKERS
        and any(isinstance(each, ast.Attribute) and each.attr in REPAIRED for each in node.args)
        and "repair" not in {keyword.arg for keyword in node.keywords}
    ]

    assert without == []
