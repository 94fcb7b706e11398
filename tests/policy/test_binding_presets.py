"""A preset names the bindings of a well-known sink, in a policy and in a manifest, like the mapping itself."""

from typing import Any

import pytest

from evalward import validate
from evalward.policy import Policy, PolicyError, parse_policy
from evalward.policy.fields import BINDING_PRESETS
from evalward.tools import parse_manifest


def policy(bindings: Any, target: str = "main") -> Policy:
    document = {"api_version": "evalward/v1", "targets": {target: {"allowed": True, "bindings": bindings}}}
    return parse_policy(document, source="the test")


def test_each_sink_of_the_specification_has_a_preset() -> None:
    assert {*BINDING_PRESETS} == {
        "electron-stagewright",
        "playwright-evaluate",
        "playwright-run-code",
        "selenium-execute-script",
        "cdp-runtime-evaluate",
    }


@pytest.mark.parametrize("name", BINDING_PRESETS)
def test_a_preset_is_the_mapping_that_it_stands_for(name: str) -> None:
    tool = {"name": "run", "operation_type": "eval", "target": "main", "source_fields": ["code"]}
    manifests = [
        parse_manifest(
            {"api_version": "evalward/v1", "tools": [{**tool, "bindings": given}]}, source="the test"
        )
        for given in (name, dict(BINDING_PRESETS[name]))
    ]

    assert policy(name) == policy(dict(BINDING_PRESETS[name]))
    assert manifests[0] == manifests[1]
    assert manifests[0].digest == manifests[1].digest


def test_the_names_of_a_preset_are_what_the_guard_resolves() -> None:
    code = b"return electronApp['app']['ex' + 'it'](0)"

    told = validate(
        code, target="renderer", shape="async_body", policy=policy("electron-stagewright", "renderer")
    )
    untold = validate(code, target="renderer", shape="async_body", policy=policy({}, "renderer"))

    assert (told.construct, untold.allowed) == ("electron-lifecycle", True)


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PolicyError, match="playwright-run-code"):
        policy("playwright-typo")
