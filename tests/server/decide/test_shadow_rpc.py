"""Shadow mode and exceptions over a real channel: an allowed finding is answered, named and recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date
from typing import Any

from evalward.guard import judge
from evalward.policy import parse_policy
from evalward.v1 import evalward_pb2 as pb

CODE = b"process['ex' + 'it'](0)"
Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]


def document(**fields: Any) -> dict[str, Any]:
    """Return a policy document that opts the renderer in."""
    return {"api_version": "evalward/v1", "targets": {"renderer": {"allowed": True}}, **fields}


def test_shadow_mode_allows_and_says_what_it_would_deny(start: Start, ask: Ask) -> None:
    running = start(judge, policy=parse_policy(document(enforcement="audit"), source="test"))

    response = running.stub.Validate(ask(CODE))

    assert response.WhichOneof("outcome") == "allowed"
    assert list(response.allowed.would_block) == ["process.exit"]
    (entry,) = json.loads(response.envelope)["_meta"]["would_block"]
    assert entry["construct"] == "process.exit"
    started = json.loads(running.log.read_text().splitlines()[0])
    assert started["weakened"] == ["enforcement-audit=renderer", "workers=0"]
    (record,) = running.records()
    assert (record["outcome"], record["enforcement"]) == ("allow", "audit")
    assert record["shadow"] == ["process.exit"]
    running.stub.Validate(ask(b"eval(x)"))
    assert running.records()[1]["keyword"] == "eval("


def test_an_exception_lets_one_payload_through(start: Start, ask: Ask) -> None:
    vetted = {
        "sha256": hashlib.sha256(CODE).hexdigest(),
        "targets": ["renderer"],
        "constructs": ["process.exit"],
        "reason": "vetted",
        "owner": "security",
        "expires": date(2099, 1, 1),
    }
    policy = parse_policy(document(exceptions=[vetted]), source="test")
    running = start(judge, policy=policy)

    let_through = running.stub.Validate(ask(CODE))
    other = running.stub.Validate(ask(CODE + b";"))

    assert let_through.WhichOneof("outcome") == "allowed"
    assert list(let_through.allowed.would_block) == ["process.exit"]
    assert other.error.code == "EVAL_BLOCKED_CONSTRUCT"
    used, denied = running.records()
    assert (used["exception_id"], used["shadow"]) == (policy.exceptions[0].id, ["process.exit"])
    assert "exception_id" not in denied
