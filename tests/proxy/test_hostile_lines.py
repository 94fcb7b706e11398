"""Lines that two readers could read differently are refused, do not reach the server, and do not break the session."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from recorded_session import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from recorded_session import Recorded

CASES = yaml.safe_load((Path(__file__).parent / "data" / "hostile_lines.yaml").read_text(encoding="utf-8"))
PING = b'{"jsonrpc":"2.0","id":"after","method":"ping"}\n'


def line_of(text: str) -> bytes:
    """Return the bytes of a case: \\xHH and \\r are bytes, everything else is written as it is."""
    parts = text.encode()
    for escape in {f"\\x{number:02x}" for number in range(256)} | {"\\r"}:
        parts = parts.replace(escape.encode(), codecs.escape_decode(escape)[0])
    return parts + b"\n"


def test_none_reaches_the_server(guarded: Recorded) -> None:
    before = len(guarded.arrived())
    for case in CASES:
        guarded.send(line_of(case["line"]))
        answer = guarded.message()
        assert (answer["id"], answer["error"]["code"]) == (case["id"], case["number"]), case["name"]
        assert answer["error"]["message"].startswith("Evalward refuses the message: ")
        guarded.send(PING)
        assert guarded.message()["id"] == "after", case["name"]
    assert guarded.arrived()[before:] == [PING] * len(CASES)
    assert guarded.end() == 0


def test_a_line_that_is_too_long_is_dropped_whole(guarded: Recorded) -> None:
    before = len(guarded.arrived())
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"click","arguments":{}}}'
    guarded.send(b" " * (32 * 1024 * 1024) + call + b"\n")
    assert "too long" in guarded.message()["error"]["message"]
    guarded.send(PING)
    assert guarded.message()["id"] == "after"
    assert guarded.arrived()[before:] == [PING]


def test_an_id_in_flight_is_refused_without_an_id(guarded: Recorded) -> None:
    silent = b'{"jsonrpc":"2.0","id":5,"method":"test/silent"}\n'
    guarded.send(silent)
    guarded.send(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"click","arguments":{}}}\n')
    refused = guarded.message()
    # With the id, the client would take the refusal for the answer to its first request.
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    guarded.send(PING)
    assert guarded.message()["id"] == "after"
    assert guarded.arrived()[-2:] == [silent, PING]
    # The client gives the first one up; then its id is free.
    guarded.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}\n')
    guarded.send(b'{"jsonrpc":"2.0","id":5,"method":"ping"}\n')
    assert guarded.message()["id"] == 5


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085"])
def test_a_character_that_ends_a_line_for_some_is_escaped(guarded: Recorded, separator: str) -> None:
    hidden = '{"jsonrpc":"2.0","id":2,"method":"tools/call"}'
    line = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": f"a{separator}{hidden}"}},
        ensure_ascii=False,
    ).encode()
    guarded.send(line + b"\n")
    guarded.message()
    arrived = guarded.arrived()[-1]
    assert arrived.decode().splitlines() == [arrived.decode().removesuffix("\n")]
    assert json.loads(arrived) == json.loads(line)


def test_calls_keep_their_order(guarded: Recorded) -> None:
    calls: list[dict[str, Any]] = []
    for number in range(60):
        slow = "() => " + "+".join(["document.title"] * (400 if number % 3 == 0 else 1))
        name, arguments = ("evaluate", {"code": slow}) if number % 2 else ("click", {"x": number})
        calls.append(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
        )
    guarded.send(b"".join(json.dumps(each).encode() + b"\n" for each in calls))
    for _ in calls:
        assert "result" in guarded.message()
    arrived = [json.loads(line).get("id") for line in guarded.arrived()]
    assert [each for each in arrived if isinstance(each, int)] == [each["id"] for each in calls]


def test_in_either_mode_of_judging(recorded: Callable[..., Recorded]) -> None:
    session = recorded(f"--manifest={MANIFEST}", "--allow-eval=renderer", "--workers=0").begin()
    assert session.call("evaluate", {"code": "() => eval(location.hash)"})["isError"] is True
    assert "isError" not in session.call("evaluate", {"code": "() => document.title"})
