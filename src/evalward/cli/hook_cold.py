"""``evalward hook PRODUCT --cold``: judge one call in this process, with an audit log of its own."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from evalward.audit import AuditLog, AuditUnavailable
from evalward.cli.audit_place import default_audit_log
from evalward.cli.serverless import provenance
from evalward.errors import Code, CodedError, Repair
from evalward.guard.repair import judge_repaired
from evalward.hook.call import Answer, Outcome
from evalward.hook.products import PRODUCTS
from evalward.judging.in_process import InProcessExecutor
from evalward.policy import Policy, load_policy, parse_allow_eval
from evalward.server.decide.active_policy import DeciderParts
from evalward.server.decide.server_calls import ServerCall
from evalward.server.requests.caller import UNKNOWN_CALLER
from evalward.server.settings import Settings
from evalward.server.transport.grpc_server import message_bytes
from evalward.tools.servers import Servers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evalward.hook.call import HookCall, Product

LOG_NAME: Final = "hook.jsonl"
LOCK_SECONDS: Final = 5.0
"""How long a call waits for the log while other calls are judged."""


def judge_cold(  # noqa: PLR0913 - the operator's options
    product_name: str,
    text: bytes,
    *,
    policy: Path | None,
    allow_eval: str,
    servers: Sequence[str],
    audit_log: Path | None,
) -> Answer:
    """Return the product's answer to the hook's input ``text``; raise whatever fails."""
    product = PRODUCTS[product_name]
    in_force = Policy.default() if policy is None else load_policy(policy)
    if targets := parse_allow_eval(allow_eval):
        in_force = in_force.allowing(targets)
    log = _log(audit_log)
    try:
        executor = InProcessExecutor(judge_repaired, max_concurrent=1, queue=0)
        parts = DeciderParts.without_sockets(log, executor, servers=Servers.parse(servers))
        calls = parts.under(in_force, provenance(in_force)).server_calls
        try:
            asked = _read(product, text, message_bytes(Settings(), in_force.limits.payload_bytes))
        except CodedError as refusal:
            decided = calls.refused(refusal, UNKNOWN_CALLER)
        else:
            if not asked.readings:
                return Answer(b"")
            call = ServerCall(
                asked.readings,
                asked.arguments_json,
                asked.session_id,
                asked.request_id,
                takes_programs=product.TAKES_PROGRAMS,
            )
            decided = calls.decide(call, remaining=None, stopping=False, caller=UNKNOWN_CALLER)
    finally:
        log.close()
    return product.answer(Outcome(decided.allowed, decided.call.decision.envelope, decided.arguments))


def standard_input() -> bytes:
    """Return all of standard input."""
    return sys.stdin.buffer.read()


def _read(product: Product, text: bytes, most: int) -> HookCall:
    if len(text) > most:
        raise CodedError(
            Code.EVAL_PAYLOAD_TOO_LARGE,
            f"The hook's input exceeds the limit arguments_bytes of {most}.",
            repair=Repair.passed("arguments_bytes", most, field="/", actual=len(text)),
        )
    return product.read(text)


def _log(path: Path | None) -> AuditLog:
    """Open the log, which one process at a time can write; a few calls may be judged at once."""
    place = path or default_audit_log().with_name(LOG_NAME)
    if path is None:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return AuditLog.open(place)
        except AuditUnavailable:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
