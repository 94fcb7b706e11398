"""ValidateCall judges each kind of field, also in tools that evaluate nothing; the calls are data."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalward.client import GuardClient
from evalward.guard import judge
from evalward.policy import parse_policy
from evalward.tools import ManifestError, load_manifest, parse_manifest
from evalward.tools.permitted import is_permitted_path
from evalward.v1 import evalward_pb2 as pb

DATA = Path(__file__).parents[2] / "data" / "tools"
MANIFEST = load_manifest(DATA / "kinds.yaml")
CALLS: list[dict[str, Any]] = yaml.safe_load((DATA / "kind_calls.yaml").read_text("utf-8"))
SECRET = {"password": "s3cret"}
Start = Callable[..., Any]


def arguments(call: dict[str, Any]) -> bytes:
    more = SECRET if call["tool"] == "navigate" else {}
    return json.dumps({**call["arguments"], **more}).encode()


def policy(**fields: Any) -> Any:
    document = {"api_version": "evalward/v1", "targets": {"renderer": {"allowed": True}}, "fields": fields}
    return parse_policy(document, source="the test")


def test_each_call_is_answered_as_the_data_says(start: Start) -> None:
    running = start(judge, manifest=MANIFEST)

    for call in CALLS:
        request = pb.ValidateCallRequest(tool=call["tool"], arguments_json=arguments(call))
        response = running.stub.ValidateCall(request)
        found = (response.error.code or None, response.failed_path or response.error.field or None)
        assert found == (call.get("code"), call.get("field")), call
        value = str(call["arguments"].get("url", ""))
        assert len(value) < 12 or value not in response.envelope.decode()

    log = running.log.read_text()
    assert "s3cret" not in log
    assert "onerror" not in log
    assert "alert" not in log


@pytest.mark.parametrize(
    "schemes", [["http", "https", "about"], ["javascript"]], ids=["default", "permitted"]
)
def test_every_spelling_that_ran_in_a_real_server_is_judged(schemes: list[str], start: Start) -> None:
    stub = start(judge, manifest=MANIFEST, policy=policy(url_schemes=schemes)).stub
    escape = "globalThis['ev'+'al']('1')"

    for spelling in yaml.safe_load((DATA / "url_spellings.yaml").read_text("utf-8")):
        url = spelling["url"].replace("{script}", escape).replace("{base64}", "PGI+")
        text = arguments({"tool": "navigate", "arguments": {"url": url}})
        response = stub.ValidateCall(pb.ValidateCallRequest(tool="navigate", arguments_json=text))
        runs = spelling.get("runs") and "javascript" in schemes
        if runs:
            assert response.error.code == "EVAL_BLOCKED_CONSTRUCT", spelling
        elif spelling.get("opens") != "nothing":
            assert response.error.code, spelling


def test_what_is_judged_is_listed_with_its_kind(start: Start) -> None:
    running = start(judge, manifest=MANIFEST)
    sent = {"url": "https://example.com", "initScript": "window.a = 1", "password": "x"}

    response = running.stub.ValidateCall(
        pb.ValidateCallRequest(tool="navigate", arguments_json=json.dumps(sent).encode())
    )

    assert [(field.path, field.kind, field.sha256) for field in response.fields] == [
        (f"/{name}", kind, hashlib.sha256(sent[name].encode()).hexdigest())
        for name, kind in (("url", "url"), ("initScript", "source"))
    ]
    assert json.loads(response.envelope)["operation_type"] == "command"
    records = running.records()
    assert [(record.get("field_path"), record["outcome"]) for record in records] == [
        ("/initScript", "allow"),
        (None, "allow"),
    ]
    assert {record["decision_id"] for record in records} == {response.binding.decision_id}


@pytest.mark.parametrize(
    ("fields", "tool", "sent", "code"),
    [
        ({"url_schemes": ["https"]}, "navigate", {"url": "http://example.com"}, "TOOL_URL_DENIED"),
        ({"url_schemes": ["https"]}, "navigate", {"url": "example.com"}, "TOOL_URL_DENIED"),
        ({"url_schemes": ["javascript"]}, "navigate", {"url": "javascript:document.title"}, None),
        (
            {"url_schemes": ["javascript"]},
            "navigate",
            {"url": "JAVA\tscript:%67lobalThis%5B'ev'+'al'%5D('1')"},
            "EVAL_BLOCKED_CONSTRUCT",
        ),
        # The line end is dropped before the URL runs: what is a comment in the text is none in the script.
        (
            {"url_schemes": ["javascript"]},
            "navigate",
            {"url": "javascript://\n%0aglobalThis['ev'+'al']('1')"},
            "EVAL_BLOCKED_CONSTRUCT",
        ),
        (
            {"launch": ["--headless", "LANG=C"]},
            "launch",
            {"args": ["--headless"], "env": {"LANG": "C"}},
            None,
        ),
        ({"launch": ["--headless"]}, "launch", {"env": {"X": "--headless"}}, "TOOL_VALUE_DENIED"),
        ({"launch": ["A=b=c"]}, "launch", {"env": {"A=b": "c"}}, "TOOL_VALUE_DENIED"),
        ({"launch": ["9333"]}, "launch", {"port": 9333}, None),
        ({"paths": ["/srv/in/"]}, "launch", {"paths": ["/srv/in/a.txt"]}, None),
        ({"paths": ["/srv/in/"]}, "launch", {"paths": ["/srv/in/../key"]}, "TOOL_VALUE_DENIED"),
    ],
)
def test_a_policy_permits_what_it_lists(
    fields: dict[str, Any], tool: str, sent: dict[str, Any], code: str | None, start: Start
) -> None:
    running = start(judge, manifest=MANIFEST, policy=policy(**fields))
    text = arguments({"tool": tool, "arguments": sent})

    response = running.stub.ValidateCall(pb.ValidateCallRequest(tool=tool, arguments_json=text))

    assert (response.error.code or None) == code
    if code == "TOOL_VALUE_DENIED":
        assert json.loads(response.envelope)["details"]["allowed"] == sorted(next(iter(fields.values())))


@pytest.mark.parametrize(
    ("path", "permitted"),
    [
        ("out/a.png", True),
        ("a.png", True),
        ("/srv/a", True),
        ("/srv//a/./b", True),
        ("/srv", False),
        ("/srvx/a", False),
        ("../a", False),
        ("out/../../a", False),
        ("~/a", False),
        ("-o", False),
        ("C:/a", False),
        ("file:///etc/passwd", False),
        ("..\\a", False),
        ("a\x00", False),
        ("//host/share", False),
        ("/etc/hosts", True),
    ],
)
def test_a_path_stays_below_what_is_listed(path: str, *, permitted: bool) -> None:
    assert is_permitted_path(path, frozenset({"./", "/srv/", "/etc/hosts"})) is permitted


@pytest.mark.parametrize(
    "fields",
    [
        {"url_schemes": ["https:"]},
        {"url_schemes": ["view-source"]},
        {"url_schemes": ["HTTP"]},
        {"paths": ["/srv/../"]},
        {"launch": [""]},
        {"path": ["x"]},
    ],
)
def test_a_policy_with_values_that_say_nothing_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Exception, match="fields"):
        policy(**fields)


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        ({"fields": {"url": "link"}}, "source, url, markup, launch, path, typed, data"),
        ({"fields": {"href": "url"}}, "lacks 'href'"),
        ({"fields": {"url": "source"}}, "needs a sink or a target"),
        ({"fields": {"url": {"kind": "source", "sink": "cdp.evaluate"}}}, "cdp.runtime-evaluate"),
        ({"fields": {"url": {"kind": "source", "sink": "node.vm", "shape": "script"}}}, "not a sink of this"),
        ({"fields": {"url": {"kind": "url", "target": "main"}}}, "only a source field"),
        ({"fields": {"tabs": {"kind": "source", "target": "main"}}}, "is no text"),
        (
            {"fields": {"url": {"kind": "source", "target": "main", "bindings": {"a": "electorn"}}}},
            "electron",
        ),
        (
            {"fields": {"url": "url"}, "input_schema": {"properties": {"url": {}, "URL": {}}}},
            "'URL' can be taken for the field url",
        ),
    ],
)
def test_a_manifest_with_a_kind_that_says_nothing_is_refused(tool: dict[str, Any], says: str) -> None:
    schema = {"properties": {"url": {"type": "string"}, "tabs": {"type": "array"}}}
    entry = {"name": "t", "operation_type": "command", "input_schema": schema, **tool}

    with pytest.raises(ManifestError, match="tool t") as refused:
        parse_manifest({"api_version": "evalward/v1", "tools": [entry]}, source="the test")

    assert says in str(refused.value)


def test_a_client_checks_the_fields_of_a_command(start: Start) -> None:
    with GuardClient(start(judge, manifest=MANIFEST).address) as guard:
        sent = json.dumps({"url": "https://example.com"}).encode()
        passed = guard.validate_call("navigate", sent, runs=["/url"], judged_fields_only=True)
        whole = guard.validate_call("navigate", sent, runs=["/url"])
        denied = guard.validate_call("navigate", b'{"url":"javascript:1"}', judged_fields_only=True)

    assert (passed.allowed, [field.kind for field in passed.judged]) == (True, ["url"])
    assert whole.code == "MISSING_FIELD"
    assert (denied.allowed, denied.code) == (False, "TOOL_URL_DENIED")


def test_an_operation_that_evaluates_nothing_says_so(start: Start) -> None:
    stub = start(judge, manifest=MANIFEST).stub

    def operation(text: bytes) -> str:
        response = stub.ValidateCall(pb.ValidateCallRequest(tool="steps", arguments_json=text))
        return str(json.loads(response.envelope)["operation_type"])

    assert operation(b'{"op":"click"}') == "command"
    assert operation(b'{"op":"eval","code":"1"}') == "eval"
