"""Only the judged fields are sent to the guard, in their places, and no typed password."""

from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="the extra evalward[mcp] is not installed")

from evalward.tools.projection import only

ARGUMENTS = {
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
