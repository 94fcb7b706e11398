"""Only the judged fields are sent to the guard, in their places; programs take the places of code."""

from typing import Any

import pytest

from evalward.tools.projection import only, with_values

ARGUMENTS: dict[str, Any] = {
    "code": "x",
    "password": "correct horse",
    "steps": [{"code": "y", "text": "secret"}, "secret", {"code": "z"}],
    "a/b": {"": "w"},
}


@pytest.mark.parametrize(
    ("paths", "sent"),
    [
        ([("code",)], {"code": "x"}),
        ([("steps", "0", "code")], {"steps": [{"code": "y"}, None, None]}),
        ([("code",), ("steps", "2", "code")], {"code": "x", "steps": [None, None, {"code": "z"}]}),
        ([("a/b", "")], {"a/b": {"": "w"}}),
        ([("nowhere",)], {}),
        ([()], ARGUMENTS),
    ],
)
def test_nothing_else_is_sent(paths: Any, sent: Any) -> None:
    assert only(ARGUMENTS, paths) == sent


def test_values_take_the_places_of_others() -> None:
    changed = with_values(ARGUMENTS, {"/code": "p", "/steps/2/code": "q", "/a~1b/": "r"})
    assert changed == {
        **ARGUMENTS,
        "code": "p",
        "steps": [*ARGUMENTS["steps"][:2], {"code": "q"}],
        "a/b": {"": "r"},
    }
    assert ARGUMENTS["code"] == "x"
