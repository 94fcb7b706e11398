"""Whatever the payload: a verdict, the same one each time, without an exception."""

from __future__ import annotations

from typing import Any

import pytest
from guard_cases import cases, verdict
from hypothesis import given, settings
from hypothesis import strategies as st

TOKENS = [
    *"(){}[];,.:?=<>+-*/!&|`'\"\\#@ \n\r",
    *[
        "a",
        "b",
        "x",
        "1",
        "0x1",
        "=>",
        "...",
        "?.",
        "${",
        "/*",
        "*/",
        "//",
        "<!--",
        "-->",
        "#!",
        "function*",
        "if",
        "else",
        "this",
        "import",
        "eval(",
        "process",
    ],
    *(
        f"{word} "
        for word in [
            "let",
            "var",
            "function",
            "async",
            "await",
            "yield",
            "class",
            "extends",
            "return",
            "for",
            "of",
            "in",
            "new",
        ]
    ),
    *["'exit'", "constructor", "\\u0061", "`a`", "/x/g", "()=>", "{a:1}", "static", "get", "export"],
    "\u2028",
    "\ufeff",
]
SHAPES = st.sampled_from([None, "script", "expression", "function", "async_body", "module"])
PROFILES = st.sampled_from(["balanced", "strict", "seed"])


@settings(max_examples=300)
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join), SHAPES, PROFILES)
def test_tokens_in_any_order_get_the_same_verdict_twice(code: str, shape: str | None, profile: str) -> None:
    first = verdict(code, shape=shape, profile=profile)
    assert first == verdict(code, shape=shape, profile=profile)
    assert first.code_length == len(code.encode())


@settings(max_examples=150)
@given(st.binary(max_size=200), SHAPES)
def test_any_bytes_get_a_verdict(payload: bytes, shape: str | None) -> None:
    assert verdict(payload, shape=shape).code_length == len(payload)


HOSTILE: dict[str, Any] = cases("never_raises")
REPEATED = [
    f"{case['before']}{''.join(case['unit'].replace('{i}', str(i)) for i in range(case['times']))}{case['after']}"
    for case in HOSTILE["repeated"]
]


@pytest.mark.parametrize("code", [*HOSTILE["plain"], *REPEATED], ids=lambda code: code[:60])
def test_what_python_raises_or_hangs_on_has_a_verdict(code: str) -> None:
    for profile in ("balanced", "strict"):
        first = verdict(code, shape="script", profile=profile)

        assert first == verdict(code, shape="script", profile=profile)
