"""A tool that names its sink gets the sink's target, readings and bindings; a contradiction is rejected."""

from typing import Any

import pytest

from evalward.guard.sinks import sinks
from evalward.guard.target import Target
from evalward.tools import ManifestError, parse_manifest

SINK = "playwright.evaluate"


def manifest(**tool: Any) -> dict[str, Any]:
    eval_tool = {"name": "browser_evaluate", "operation_type": "eval", "source_fields": ["code"], **tool}
    return {"api_version": "evalward/v1", "tools": [eval_tool]}


@pytest.mark.parametrize("sink", sinks())
def test_the_target_is_that_of_the_sink(sink: str) -> None:
    (tool,) = parse_manifest(manifest(sink=sink), source="m").tools

    assert (tool.sink, tool.target, tool.shape) == (sink, sinks()[sink].target, None)


def test_what_the_sink_says_may_be_said_again() -> None:
    (tool,) = parse_manifest(manifest(sink=SINK, target="page"), source="m").tools

    assert tool.target is Target.RENDERER


@pytest.mark.parametrize(
    ("tool", "field", "allowed"),
    [
        ({"sink": "playwright.evaluat"}, "sink", "playwright.evaluate"),
        ({"sink": ""}, "sink", "puppeteer.evaluate"),
        ({"sink": SINK, "target": "main"}, "target", "renderer"),
        ({"sink": SINK, "shape": "function"}, "shape", "leave it out"),
        (
            {"sink": "playwright.run-code", "bindings": {"page": "json"}},
            "bindings.page",
            "playwright.page",
        ),
    ],
)
def test_what_contradicts_the_sink_is_refused(tool: dict[str, Any], field: str, allowed: str) -> None:
    with pytest.raises(ManifestError) as refused:
        parse_manifest(manifest(**tool), source="m")

    (issue,) = refused.value.issues
    assert issue.field.endswith(field)
    assert allowed in issue.allowed


def test_a_tool_that_evaluates_nothing_has_no_sink() -> None:
    with pytest.raises(ManifestError, match="only an eval tool"):
        parse_manifest(manifest(sink=SINK, operation_type="command"), source="m")
