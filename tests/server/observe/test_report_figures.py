"""``/metrics``, ``audit summary`` and ``audit report`` count the same calls."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from admin_http import labels_of, samples

from evalward.audit.activity import Activity
from evalward.audit.files import LogFile
from evalward.audit.read import records, summary
from evalward.audit.report.facts import facts_of
from evalward.audit.report.proof import proof_of
from evalward.audit.verify import verify
from evalward.guard import judge
from evalward.policy import Policy
from evalward.server.addresses import TcpAddress
from evalward.server.settings import Settings
from evalward.v1 import evalward_pb2 as pb

PAYLOADS = [b"1", b"1", b"process['ex' + 'it'](0)", b"process.exit(0)", b"eval('1')", b"a\0b", b"const = 1"]


def test_the_figures_are_equal(start: Callable[..., Any], ask: Callable[..., pb.ValidateRequest]) -> None:
    policy = Policy.model_validate({"targets": {"renderer": {"allowed": True}}})
    running = start(judge, Settings(admin=TcpAddress("127.0.0.1", 0), warm_sandbox=False), policy=policy)
    for payload in PAYLOADS:
        running.stub.Validate(ask(payload))
    running.stub.Validate(pb.ValidateRequest(code=b"1"))
    running.stub.ValidateBatch(pb.ValidateBatchRequest(items=[ask(payload) for payload in PAYLOADS]))
    admin = running.server.admin_address
    log = LogFile.open(running.log)

    activity = Activity()
    proof = proof_of(verify([log], seen=activity.add), heads_given=False)
    facts = facts_of(activity, proof, files=["log"], now=datetime.now(UTC))

    assert facts.counts == summary(records(log.lines()))
    assert samples(admin)["evalward_audit_records_total"] == verify([log]).records
    outcomes: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for labels, value in _counters(admin, "evalward_requests_total"):
        outcomes[labels["outcome"]] += value
        codes[labels["code"]] += value if labels["code"] != "OK" else 0
    decisions = facts.counts["decisions"]
    assert outcomes == Counter(allow=decisions["allowed"], deny=decisions["denied"])
    assert +codes == Counter(facts.counts["denied_by_code"])
    blocked = {labels["construct"]: value for labels, value in _counters(admin, "evalward_blocked_total")}
    keywords = {f"keyword:{name}": count for name, count in facts.counts["denied_by_keyword"].items()}
    assert blocked == {**facts.counts["denied_by_construct"], **keywords}
    named = Counter(dict(facts.reasons))
    assert {name: named[name] for name in blocked} == blocked


def _counters(admin: Any, name: str) -> list[tuple[dict[str, str], int]]:
    found = samples(admin)
    return [(labels, int(found[_sample(name, labels)])) for labels in labels_of(admin, name)]


def _sample(name: str, labels: dict[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}"
