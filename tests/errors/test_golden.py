"""The exact JSON of a success, a block, a payload without a program, a self-repair error and an infrastructure error,
in process and over gRPC; and that of a denial at run time, which a client makes.

Only what differs from run to run is replaced: times, decision ids and digests of policy and ruleset. A change of these
files is a change of the contract.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status

from evalward.audit import AuditLog
from evalward.client.denied_run import denied_run
from evalward.client.guard_reply import Decision
from evalward.errors import Provenance, canonical_json
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.judging.in_process import InProcessExecutor
from evalward.policy import Policy
from evalward.server.addresses import parse_listen
from evalward.server.decide.audit_trail import AuditTrail
from evalward.server.decide.decider import Decider
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
POLICY = Policy.default().allowing([Target.RENDERER])
PROVENANCE = Provenance("0.0.0", "0" * 64, "0" * 12, "tree-sitter-javascript 0.25.0")
BLOCK = b"const name = 'pro' + 'cess';\nglobalThis[name]['ex' + 'it']();"


def request(code: bytes, **fields: Any) -> pb.ValidateRequest:
    return pb.ValidateRequest(code=code, target=pb.TARGET_RENDERER, session_id="s-1", **fields)


CASES = {
    "success": request(b"document.title", shape=pb.SHAPE_EXPRESSION, harden=pb.HARDEN_OFF),
    "block": request(BLOCK, shape=pb.SHAPE_SCRIPT),
    "not_hardenable": request(b"debugger;", shape=pb.SHAPE_SCRIPT, harden=pb.HARDEN_REQUIRED),
    "self_repair": request(b"1", limits=pb.Limits(depth=10**6)),
    "infrastructure": request(b"document.body"),
}
Answer = Callable[[str], bytes]


def failing(payload: bytes, **rest: Any) -> Any:
    if payload == CASES["infrastructure"].code:
        raise RuntimeError
    return judge(payload, **rest)


@pytest.fixture
def in_process(tmp_path: Path) -> Iterator[Answer]:
    with AuditLog.open(tmp_path / "audit.jsonl") as log:
        executor = InProcessExecutor(failing, max_concurrent=1, queue=0)
        audit_trail = AuditTrail(log, PROVENANCE)
        decider = Decider(policy=POLICY, audit_trail=audit_trail, executor=executor, provenance=PROVENANCE)
        yield lambda name: canonical_json(
            decider.decide(CASES[name].SerializeToString(), remaining=None).envelope
        )


@pytest.fixture
def over_grpc(tmp_path: Path) -> Iterator[Answer]:
    server = Server(
        failing,
        policy=POLICY,
        provenance=PROVENANCE,
        audit_log=AuditLog.open(tmp_path / "audit.jsonl"),
        settings=Settings(),
    )
    address = server.start([parse_listen("127.0.0.1:0")])[0]
    with grpc.insecure_channel(address) as channel:
        stub = GuardServiceStub(channel)

        def answer(name: str) -> bytes:
            try:
                envelope: bytes = stub.Validate(CASES[name]).envelope
            except grpc.RpcError as failure:
                assert name == "infrastructure"
                details = rpc_status.from_call(failure).details  # type: ignore[arg-type]  # it is a call
                attached = next(each for each in details if each.Is(pb.ErrorEnvelope.DESCRIPTOR))
                envelope = pb.ErrorEnvelope.FromString(attached.value).envelope
            return envelope

        yield answer
    server.stop()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("road", ["in_process", "over_grpc"])
def test_the_envelope_is_as_it_was(name: str, road: str, request: pytest.FixtureRequest) -> None:
    answer: Answer = request.getfixturevalue(road)

    sent = answer(name)
    envelope = json.loads(sent)

    assert sent == canonical_json(envelope)
    assert envelope["_meta"]["elapsed_ms"] >= 0
    assert len(envelope["_meta"]["decision_id"]) == 32
    envelope["_meta"] |= {"elapsed_ms": 0, "decision_id": "0" * 32}
    assert json.dumps(envelope, indent=2, ensure_ascii=False) + "\n" == (GOLDEN / f"{name}.json").read_text(
        "utf-8"
    )


def test_the_envelope_of_a_denial_at_run_time_is_as_it_was() -> None:
    allow = Decision(
        allowed=True,
        code=None,
        envelope={"ok": True, "_meta": {"provenance": PROVENANCE.as_json(), "session_id": "s-1"}},
        code_hash="1" * 64,
        decision_id="0" * 32,
        hardened=b"(v=>1)(0)",
    )

    envelope = denied_run(allow, "eval()", is_reported=True).envelope

    assert json.loads((GOLDEN / "denied_at_run_time.json").read_text("utf-8")) == envelope
