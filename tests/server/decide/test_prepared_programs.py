"""PrepareRuntime over gRPC, and the programs for a prepared page."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalward.guard import judge
from evalward.judging.preparing import KEY
from evalward.tools import load_manifest
from evalward.v1 import evalward_pb2 as pb

MANIFEST = load_manifest(Path(__file__).parents[2] / "data" / "tools" / "manifest.yaml")
Ask = Callable[..., pb.ValidateRequest]
Start = Callable[..., Any]


def key_of(running: Any) -> str:
    made = running.stub.PrepareRuntime(pb.PrepareRuntimeRequest(target=pb.TARGET_RENDERER))
    return str(made.prepared.key)


def test_the_answer_has_script_and_key_and_writes_no_record(start: Start) -> None:
    running = start(judge)

    made = running.stub.PrepareRuntime(pb.PrepareRuntimeRequest(target=pb.TARGET_RENDERER))

    assert KEY.fullmatch(made.prepared.key)
    assert made.prepared.key.startswith(made.prepared.version)
    name, secret = made.prepared.key.split(".")[1:]
    assert name in made.prepared.script
    envelope = json.loads(made.envelope)
    assert envelope["ok"] is True
    assert envelope["runtime"] == made.prepared.version
    assert not any(part in made.envelope.decode() for part in (name, secret[:32], secret[32:]))
    assert running.records() == []


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (pb.TARGET_UNSPECIFIED, "MISSING_FIELD"),
        (pb.TARGET_MAIN, "INVALID_INPUT"),
        (pb.TARGET_SANDBOX, "INVALID_INPUT"),
        (99, "INVALID_INPUT"),
    ],
)
def test_only_the_renderer_can_be_prepared(start: Start, target: Any, code: str) -> None:
    running = start(judge)

    made = running.stub.PrepareRuntime(pb.PrepareRuntimeRequest(target=target))

    envelope = json.loads(made.envelope)
    assert (made.error.code, envelope["code"]) == (code, code)
    assert not made.HasField("prepared")
    assert running.records() == []


def test_binding_and_record_are_about_the_program_as_it_is_sent(start: Start, ask: Ask) -> None:
    running = start(judge)
    key = key_of(running)

    response = running.stub.Validate(ask(shape=pb.SHAPE_EXPRESSION, prepared=key))

    program = response.allowed.hardened.program
    assert len(program) < 4096
    assert key.split(".")[1].encode() in program
    digest = hashlib.sha256(program).hexdigest()
    assert response.allowed.hardened.sha256 == response.binding.hardened_hash == digest
    (record,) = running.records()
    assert record["hardened_hash"] == digest
    assert not any(part in json.dumps(record) for part in key.split(".")[1:])


def test_items_of_a_batch_have_keys_of_their_own(start: Start, ask: Ask) -> None:
    running = start(judge)
    keys = [key_of(running), "", key_of(running)]
    items = [ask(shape=pb.SHAPE_EXPRESSION, prepared=key, harden=pb.HARDEN_REQUIRED) for key in keys]

    response = running.stub.ValidateBatch(pb.ValidateBatchRequest(items=items))

    programs = [each.hardened.program.decode() for each in response.hardened]
    assert [len(program) < 4096 for program in programs] == [True, False, True]
    assert all(key.split(".")[1] in program for key, program in zip(keys, programs, strict=True) if key)


@pytest.mark.parametrize("change", ["x{}", "{}\n", "{}0", "."])
def test_a_malformed_key_is_refused_without_its_text(start: Start, ask: Ask, change: str) -> None:
    running = start(judge)
    key = change.format(key_of(running))

    response = running.stub.Validate(ask(shape=pb.SHAPE_EXPRESSION, prepared=key))

    envelope = json.loads(response.envelope)
    assert envelope["code"] == "INVALID_INPUT"
    assert envelope["details"]["field"] == "/prepared"
    assert envelope["details"]["pattern"] == KEY.pattern
    assert key == "." or key.strip() not in response.envelope.decode()


def call(arguments: dict[str, Any], **fields: Any) -> pb.ValidateCallRequest:
    return pb.ValidateCallRequest(tool="pinned", arguments_json=json.dumps(arguments).encode(), **fields)


def test_each_source_field_of_a_call_is_for_the_page_of_the_key(start: Start) -> None:
    running = start(judge, manifest=MANIFEST)
    key = key_of(running)
    arguments = {"options": {"script": "() => document.title"}, "batch": [{"code": "() => 1"}]}

    small = running.stub.ValidateCall(call(arguments, prepared=key, harden=pb.HARDEN_REQUIRED))
    whole = running.stub.ValidateCall(call(arguments, harden=pb.HARDEN_REQUIRED))

    assert [len(field.hardened.program) < 4096 for field in small.fields] == [True, True]
    assert [len(field.hardened.program) < 4096 for field in whole.fields] == [False, False]
    assert all(key.split(".")[1].encode() in field.hardened.program for field in small.fields)
    assert not any(part in small.envelope.decode() for part in key.split(".")[1:])
    for field in small.fields:
        assert hashlib.sha256(field.hardened.program).hexdigest() == field.hardened.sha256


def test_a_call_with_a_malformed_key_is_refused_without_its_text(start: Start) -> None:
    running = start(judge, manifest=MANIFEST)
    key = f"{key_of(running)}0"

    response = running.stub.ValidateCall(call({"options": {"script": "() => 1"}}, prepared=key))

    envelope = json.loads(response.envelope)
    assert (envelope["code"], envelope["details"]["field"]) == ("INVALID_INPUT", "/prepared")
    assert key not in response.envelope.decode()
