"""The client of ``evalward.v1``: everything except a proven ALLOW is a denial."""

from evalward.client.address import Tls
from evalward.client.aio import AsyncGuardClient
from evalward.client.batch_decision import BatchDecision, ItemDecision, Payload
from evalward.client.call_decision import CallDecision, JudgedField
from evalward.client.denied_run import DenialReport
from evalward.client.evaluation_reply import EvaluationReply
from evalward.client.guard_reply import Decision
from evalward.client.guarded import EvalDenied, SinkFailed, guarded, is_guarded
from evalward.client.preparation import Preparation
from evalward.client.prepare import Prepared, PrepareFailed, prepare
from evalward.client.spawn import SpawnedGuard, SpawnError, spawn
from evalward.client.sync import GuardClient
from evalward.client.triage import Triage

__all__ = [
    "AsyncGuardClient",
    "BatchDecision",
    "CallDecision",
    "Decision",
    "DenialReport",
    "EvalDenied",
    "EvaluationReply",
    "GuardClient",
    "ItemDecision",
    "JudgedField",
    "Payload",
    "Preparation",
    "PrepareFailed",
    "Prepared",
    "SinkFailed",
    "SpawnError",
    "SpawnedGuard",
    "Tls",
    "Triage",
    "guarded",
    "is_guarded",
    "prepare",
    "spawn",
]
