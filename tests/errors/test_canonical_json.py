import json
from enum import Enum
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalward.errors import Code, NotJsonError, canonical_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Colour(Enum):
    RED = 1


def nested(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.exhaustive
@given(PLAIN)
def test_canonical_json_loses_nothing_and_is_stable(value: object) -> None:
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data


def test_form_is_sorted_compact_and_not_escaped() -> None:
    data = canonical_json({"b": [1, 2.5, None], "a": "é\n", "code": Code.INTERNAL, "t": (True,)})
    assert data == '{"a":"é\\n","b":[1,2.5,null],"code":"INTERNAL","t":[true]}'.encode()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": {1: "x"}}, ".'a'"),
        ({"a": [0, nan]}, ".'a'[1]"),
        ([inf], "[0]"),
        ({"a": b"x"}, ".'a'"),
        ({"a": {"x"}}, ".'a'"),
        ("\ud800", "the value"),
        ({"\ud800": 1}, ".'\\ud800'"),
        ({"a": object()}, ".'a'"),
        (Colour.RED, "the value"),
    ],
    ids=[
        *("number as key", "NaN", "infinity", "bytes", "set"),
        *("surrogate", "surrogate in key", "object", "enum of numbers"),
    ],
)
def test_what_json_would_change_is_refused_by_its_path(value: object, path: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        canonical_json(value)
    assert str(caught.value).startswith(f"{path}: ")


def test_endless_nesting_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(NotJsonError, match="nested deeper than 32 levels"):
        canonical_json(endless)
    with pytest.raises(NotJsonError, match="nested deeper"):
        canonical_json(nested(33))
    assert canonical_json(nested(31)) == b"[" * 32 + b"]" * 32
