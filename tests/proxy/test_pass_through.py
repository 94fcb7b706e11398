"""What is not judged goes through byte for byte, in both directions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recorded_session import INITIALIZE

if TYPE_CHECKING:
    from recorded_session import Recorded

FROM_CLIENT = [
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":"1","method":"ping"}\r\n',
    b' { "params" : { } , "method" : "resources/list" , "id" : 2 , "jsonrpc" : "2.0" }\n',
    b'{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"test://x\\u00e9\xc3\xa9"}}\n',
    b'{"jsonrpc":"2.0","id":4,"method":"completion/complete","params":{"n":[1.0,1e400,-0,12345678901234567890]}}\n',
    b'{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"debug","_meta":{"com.x/y":null}}}\n',
    b'{"jsonrpc":"2.0","id":6,"method":"tasks/list"}\n',
    b'{"jsonrpc":"2.0","id":7,"method":"x/unknown","params":[1,2]}\n',
    b'{"jsonrpc":"2.0","id":-8,"method":"server/discover"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.50}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"r"}}\n',
    b'{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant","content":{"type":"text","text":"eval(1)"}}}\n',
    b'{"jsonrpc":"2.0","id":"s2","error":{"code":-32601,"message":"no"}}\n',
]
FROM_SERVER = [
    b'{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[]}}\n',
    b'{"jsonrpc":"2.0","id":"s2","method":"elicitation/create","params":{"message":"\xe2\x80\xa8"}}\n',
    b' { "jsonrpc":"2.0" , "method":"notifications/message","params":{"level":"info","data":1.0}}\r\n',
    b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1e0}}\n',
    b'{"jsonrpc":"2.0","id":"nobody asked","result":{}}\n',
    b"a log line of a careless server\n",
    b"\xff\xfe\n",
    b'{"a":1,"a":2}\n',
    b"\n",
]


def test_from_the_client(guarded: Recorded) -> None:
    before = len(guarded.arrived())
    guarded.send(b"".join(FROM_CLIENT))
    guarded.request("ping")
    assert guarded.arrived()[before:-1] == FROM_CLIENT


def test_from_the_server(guarded: Recorded) -> None:
    said = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "test/say",
        "params": {"lines": [each.hex() for each in FROM_SERVER]},
    }
    guarded.send(json.dumps(said).encode() + b"\n")
    assert [guarded.line() for _ in FROM_SERVER] == FROM_SERVER
    assert guarded.message()["id"] == 9


def test_messages_before_the_first_request(guarded: Recorded) -> None:
    """A client may ask ``server/discover`` before it initialises, or not initialise at all."""
    assert guarded.request("server/discover")["result"] is not None
    assert guarded.request("initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "recorder"


def test_a_large_answer(guarded: Recorded) -> None:
    line = (
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"' + b"x" * 20_000_000 + b'"}}\n'
    )
    guarded.send(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "test/say", "params": {"lines": []}}).encode()
        + b"\n"
    )
    assert guarded.message()["id"] == 1
    said = {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"data": "y" * 10_000_000}}
    guarded.send(json.dumps(said).encode() + b"\n")
    assert len(json.dumps(guarded.message())) > 10_000_000
    assert len(line) > len(guarded.arrived()[-1]) > 10_000_000
