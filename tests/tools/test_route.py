"""Routing is a function of manifest and arguments: every call is judged, checked or rejected."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalward.errors import Code, CodedError
from evalward.tools import Route, load_manifest, read_arguments, route
from evalward.tools.commands import CommandValidator
from evalward.tools.route import MAX_SOURCES
from evalward.tools.strict_json import MAX_DEPTH, MAX_VALUES

DATA = Path(__file__).parents[1] / "data" / "tools"
MANIFEST = load_manifest(DATA / "manifest.yaml")
CALLS = yaml.safe_load((DATA / "calls.yaml").read_text("utf-8"))


def routed(tool: str, arguments: str | bytes) -> Route:
    entry = MANIFEST.tool(tool)
    assert entry is not None
    text = arguments if isinstance(arguments, bytes) else arguments.encode()
    read = read_arguments(text)
    way = route(entry, read)
    if not way.is_eval:
        CommandValidator(entry).check(read)
    return way


TAKEN = [call for call in CALLS if "refused" not in call]
REFUSED = [call for call in CALLS if "refused" in call]


def name(call: dict[str, Any]) -> str:
    return f"{call['tool']} {call['arguments']}"[:60]


@pytest.mark.parametrize("call", TAKEN, ids=name)
def test_a_call_goes_where_the_manifest_says(call: dict[str, Any]) -> None:
    way = routed(call["tool"], call["arguments"])

    assert [source.path for source in way.sources] == call.get("judged", [])
    assert [source.logged for source in way.sources] == call.get("logged", call.get("judged", []))
    assert way.is_eval is not call.get("command", False)


@pytest.mark.parametrize("call", REFUSED, ids=name)
def test_a_call_that_could_hide_something_goes_nowhere(call: dict[str, Any]) -> None:
    with pytest.raises(CodedError) as refusal:
        routed(call["tool"], call["arguments"])

    assert refusal.value.repair is not None
    assert (refusal.value.code, refusal.value.repair.field) == (call["refused"], call["field"])


@pytest.mark.parametrize(
    "text",
    [b'{"code":"\xed\xa0\x80"}', b'{"code":"\xff"}', b'{"code":"a\nb"}', b'{"code":%s}' % (b"9" * 5000)],
)
def test_bytes_that_are_no_json_text_are_refused(text: bytes) -> None:
    with pytest.raises(CodedError) as refusal:
        routed("run", text)

    assert refusal.value.code is Code.INVALID_INPUT


@pytest.mark.parametrize(
    ("text", "limit", "allowed"),
    [
        ('{"code":"1","data":' + '{"a":' * 40 + "1" + "}" * 41, "argument_depth", MAX_DEPTH),
        ("[" * 200_000, "argument_depth", MAX_DEPTH),
        ('{"code":"1","data":{"a":[' + "1," * MAX_VALUES + "1]}}", "argument_values", MAX_VALUES),
        (
            '{"steps":[' + ",".join(['{"source":"1"}'] * (MAX_SOURCES + 1)) + "]}",
            "source_fields",
            MAX_SOURCES,
        ),
    ],
)
def test_what_arguments_may_cost_is_limited(text: str, limit: str, allowed: int) -> None:
    with pytest.raises(CodedError) as refusal:
        routed("run", text)

    assert refusal.value.repair is not None
    assert (refusal.value.repair.limit, refusal.value.repair.limit_value) == (limit, allowed)


KEYS = st.sampled_from(["code", "script", "data", "steps", "source", "CODE", "x", "label"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["code", "script", "data", "steps", "source", "CODE", "x", "label"]),
            below,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def texts_under(value: Any, names: tuple[str, ...]) -> list[str]:
    """Every string that stands under one of ``names``, at any depth."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            found += [item] if key in names and isinstance(item, str) else texts_under(item, names)
    elif isinstance(value, list):
        for item in value:
            found += texts_under(item, names)
    return found


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    arguments=st.dictionaries(st.sampled_from(["code", "script", "data", "steps", "label"]), JSON, max_size=4)
)
def test_no_text_under_a_source_name_escapes_the_guard(arguments: dict[str, Any]) -> None:
    tool = MANIFEST.tool("run")
    assert tool is not None
    try:
        way = route(tool, arguments)
    except CodedError:
        return
    judged = sorted(source.code.decode() for source in way.sources)
    assert judged == sorted(texts_under(arguments, tool.sources))
    assert judged
