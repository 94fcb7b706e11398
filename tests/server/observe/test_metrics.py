"""``/metrics`` after calls with every kind of outcome."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from admin_http import labels_of, samples

from evalward.errors import Code
from evalward.guard import judge as real_judge
from evalward.policy import Policy
from evalward.server.addresses import TcpAddress
from evalward.server.limit_names import LIMITS
from evalward.server.observe.observer import Observers
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

Start = Callable[..., Any]
Ask = Callable[..., pb.ValidateRequest]
RENDERER = {"targets": {"renderer": {"allowed": True}}}


def settings(**changes: Any) -> Settings:
    return Settings(admin=TcpAddress("127.0.0.1", 0), warm_sandbox=False, **changes)


def test_each_way_that_a_call_can_end_is_counted(start: Start, ask: Ask) -> None:
    running = start(real_judge, settings(batch_items=2), policy=Policy.model_validate(RENDERER))
    admin = running.server.admin_address
    stub = running.stub
    for _ in range(2):
        stub.Validate(ask())
    stub.Validate(ask(b"[]['constr' + 'uctor']['constr' + 'uctor']('1')()"))
    stub.Validate(ask(b"process.exit(0)"))
    stub.Validate(ask(b"process['made_up_by_a_payload'](0)"))
    stub.Validate(ask(b"a" * (128 * 1024 + 1)))
    stub.Validate(ask(b"[" * 5000 + b"]" * 5000))
    stub.Validate(pb.ValidateRequest(code=b"1"))
    stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(), ask(b"const = 1")]))
    stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask()] * 3))
    items = [pb.ValidateStreamRequest(item=ask()), pb.ValidateStreamRequest(item=ask(b"a\0b"))]
    assert len(list(stub.ValidateStream(iter(items)))) == 2
    stub.ValidateCall(pb.ValidateCallRequest(tool="none"))

    found = samples(admin)
    counted = {key: value for key, value in found.items() if key.startswith("evalward_requests_total")}
    expected = {
        ("OK", "allow", "Validate"): 2,
        ("EVAL_BLOCKED_CONSTRUCT", "deny", "Validate"): 2,
        ("EVAL_BLOCKED_KEYWORD", "deny", "Validate"): 1,
        ("EVAL_PAYLOAD_TOO_LARGE", "deny", "Validate"): 1,
        ("EVAL_ANALYSIS_LIMIT", "deny", "Validate"): 1,
        ("MISSING_FIELD", "deny", "Validate"): 1,
        ("OK", "allow", "ValidateBatch"): 1,
        ("EVAL_SYNTAX_ERROR", "deny", "ValidateBatch"): 1,
        ("BATCH_TOO_LARGE", "deny", "ValidateBatch"): 3,
        ("OK", "allow", "ValidateStream"): 1,
        ("EVAL_BAD_ENCODING", "deny", "ValidateStream"): 1,
        ("TOOL_UNKNOWN", "deny", "ValidateCall"): 1,
    }
    assert counted == {
        f'evalward_requests_total{{code="{code}",outcome="{outcome}",rpc="{rpc}"}}': number
        for (code, outcome, rpc), number in expected.items()
    }
    assert found['evalward_request_seconds_count{rpc="Validate"}'] == 8
    assert found['evalward_request_seconds_count{rpc="ValidateBatch"}'] == 2
    assert found['evalward_request_seconds_count{rpc="ValidateStream"}'] == 2
    blocked = {labels["construct"] for labels in labels_of(admin, "evalward_blocked_total")}
    assert blocked == {".constructor.constructor", "keyword:process.exit", "process"}
    for limit in ("payload_bytes", "batch_items"):
        assert found[f'evalward_limit_refusals_total{{limit="{limit}"}}'] == 1
    assert found['evalward_limit_refusals_total{limit="other"}'] == 0
    assert found["evalward_verdict_cache_hits_total"] >= 1
    assert found["evalward_audit_records_total"] == found["evalward_audit_head_seq"]
    (head,) = labels_of(admin, "evalward_audit_head_info")
    last = running.log.read_text().splitlines()[-1]
    assert f'"mac":"{head["mac"]}"' in last
    assert f'"chain":"{head["chain"]}"' in last


def test_what_policy_only_audits_is_counted(start: Start, ask: Ask) -> None:
    shadow = Policy.model_validate({**RENDERER, "enforcement": "audit"})
    running = start(real_judge, settings(), policy=shadow)
    assert running.stub.Validate(ask(b"process['exit'](0)")).WhichOneof("outcome") == "allowed"
    found = samples(running.server.admin_address)
    assert found['evalward_would_block_total{construct="process.exit"}'] == 1
    assert not [key for key in found if key.startswith("evalward_blocked_total")]


def test_a_name_that_a_payload_made_up_is_no_label(start: Start, ask: Ask) -> None:
    running = start(real_judge, settings(), policy=Policy.model_validate({**RENDERER, "profile": "strict"}))
    running.stub.Validate(ask(b"process.marker_4d(0)"))
    running.stub.Validate(ask(b"process['marker_4d'](0)"))
    for name in (b"marker_4d!", b"marker_4d\\ud800", b"<marker_4d>"):
        answer = running.stub.Validate(ask(b"process['" + name + b"'](0)"))
        assert b'"construct":"process.<member>"' in answer.envelope
    assert "marker_4d" not in str(samples(running.server.admin_address))


def test_strangers_and_full_streams_are_counted(start: Start, ask: Ask) -> None:
    running = start(settings=settings(max_streams=0), token="0123456789abcdef")
    with pytest.raises(grpc.RpcError):
        running.stub.Validate(ask())
    metadata = (("authorization", "Bearer 0123456789abcdef"),)
    with pytest.raises(grpc.RpcError):
        list(running.stub.ValidateStream(iter([]), metadata=metadata))
    found = samples(running.server.admin_address)
    assert found['evalward_requests_total{code="UNAUTHENTICATED",outcome="error",rpc="unread"}'] == 1
    assert found['evalward_requests_total{code="OVERLOADED",outcome="error",rpc="ValidateStream"}'] == 1
    assert found['evalward_limit_refusals_total{limit="streams"}'] == 1


def test_runs_in_the_sandbox_are_measured(start: Start) -> None:
    allowing = Policy.model_validate({"targets": {"sandbox": {"allowed": True}}})
    running = start(real_judge, settings(), policy=allowing)
    running.stub.Evaluate(pb.EvaluateRequest(code=b"1 + 1"), timeout=60)
    found = samples(running.server.admin_address)
    assert found["evalward_sandbox_run_seconds_count"] == 1
    assert found["evalward_sandbox_fuel_total"] > 0
    assert found['evalward_requests_total{code="OK",outcome="allow",rpc="Evaluate"}'] == 1


def test_each_named_limit_has_a_series_from_the_start(start: Start) -> None:
    found = samples(start(settings=settings()).server.admin_address)
    for limit in LIMITS:
        assert found[f'evalward_limit_refusals_total{{limit="{limit}"}}'] == 0


def test_an_observer_that_fails_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def finished(self, _call: object) -> None:
            raise ValueError("marker_9c")

        def turned_away(self, _code: object) -> None:
            raise ValueError("marker_9c")

    observers = Observers([Broken()])
    observers.finished("Validate", [], 0.0)
    observers.turned_away(Code.UNAUTHENTICATED)
    assert caplog.text.count("Broken missed a call: ValueError") == 2
    assert "marker_9c" not in caplog.text


def test_a_policy_that_is_refused_is_counted_and_the_old_one_stays(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("api_version: evalward/v1\n")
    process = serve("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--policy", str(policy))
    admin = process.ready["admin"]
    before = labels_of(admin, "evalward_policy_info")
    policy.write_text("no: policy\n")
    process.popen.send_signal(signal.SIGHUP)
    asked = 0
    while samples(admin)["evalward_policy_rejects_total"] < 1:
        asked += 1
        assert asked < 10_000
    assert samples(admin)["evalward_policy_loads_total"] == 0
    assert labels_of(admin, "evalward_policy_info") == before


def test_guard_workers_are_counted(serve: Callable[..., Any]) -> None:
    process = serve("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--workers", "1")
    found = samples(process.ready["admin"])
    assert found["evalward_workers"] >= 1
    assert found["evalward_worker_ends_total"] == found["evalward_worker_kills_total"] == 0
    assert found['evalward_limit{limit="workers"}'] == 1
