"""``deploy/observability``: every expression parses and uses metrics and labels of a real server."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import promql_parser
import pytest
import trustme
import yaml
from admin_http import labels_of, names, samples, values

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

ROOT = Path(__file__).parents[3]
EVALWARD = Path(sys.executable).with_name("evalward")
FOLDER = ROOT / "deploy" / "observability"
RULES = yaml.safe_load((FOLDER / "rules.yaml").read_text("utf-8"))
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
OPERATIONS = (ROOT / "docs" / "reference" / "operations.md").read_text("utf-8")
# The labels that Prometheus adds to each sample, and the one metric of its own.
ADDED = {"instance", "job", "le"}
OF_PROMETHEUS = "up"


def expressions() -> Iterator[tuple[str, str]]:
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"].replace("$__rate_interval", "5m")


def selectors(expression: str) -> dict[str, list[set[str]]]:
    """Return the metrics of ``expression`` with the labels that each selector matches."""
    found: dict[str, list[set[str]]] = {}

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            matched = {matcher.name for matcher in node.matchers.matchers}
            found.setdefault(str(node.name), []).append(matched)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


@pytest.fixture
def admin(serve: Callable[..., Any], tmp_path: Path) -> str:
    """Return the admin address of a server with enough calls for a sample of every metric."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "api_version: evalward/v1\n"
        "targets: {renderer: {allowed: true, enforcement: audit}, main: {allowed: true}}\n"
    )
    certificate, key = (tmp_path / f"server.{suffix}" for suffix in ("pem", "key"))
    issued = trustme.CA().issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(certificate)
    key.touch(0o600)
    issued.private_key_pem.write_to_path(key)
    process = serve(
        *("--listen", f"unix:{tmp_path}/socket", "--admin-listen", "127.0.0.1:0", "--policy", str(policy)),
        *("--tls-cert", str(certificate), "--tls-key", str(key)),
    )
    with grpc.insecure_channel(process.listen[0]) as channel:
        stub = GuardServiceStub(channel)
        for target in (pb.TARGET_RENDERER, pb.TARGET_MAIN):
            stub.Validate(pb.ValidateRequest(code=b"process['exit'](0)", target=target), timeout=30)
        ordinary = pb.ValidateRequest(code=b"1 + 1", target=pb.TARGET_MAIN, shape=pb.SHAPE_EXPRESSION)
        decision = stub.Validate(ordinary, timeout=30).binding.decision_id
        stub.ReportDenial(pb.ReportDenialRequest(decision_id=decision, construct="eval()"), timeout=30)
    address: str = process.ready["admin"]
    return address


def test_every_expression_asks_for_what_a_server_has(admin: str) -> None:
    known = names(admin)
    labels = {name: {label for one in labels_of(admin, name) for label in one} for name in known}
    asked = set()
    for where, expression in expressions():
        for name, matches in selectors(expression).items():
            if name == OF_PROMETHEUS:
                continue
            assert name in known, where
            for matched in matches:
                assert matched <= labels[name] | ADDED, where
            asked.add(name)
    assert asked


def test_every_metric_is_documented_and_nothing_else_is(admin: str) -> None:
    table = set(re.findall(r"^\| `(evalward_\w+)` \|", OPERATIONS, re.MULTILINE))
    parts = re.compile(r"_(bucket|sum|count|created)$")
    shown = {name for name in names(admin) if name.startswith("evalward_") and not name.endswith("_created")}
    assert {parts.sub("", name) for name in shown} == table


def test_the_documented_labels_are_the_real_ones(admin: str) -> None:
    rows = re.findall(r"^\| `(evalward_\w+)` \| (.*?) \|", OPERATIONS, re.MULTILINE)
    real = samples(admin)
    for name, column in rows:
        sample = name if f"{name}_count" not in names(admin) else f"{name}_count"
        found = [key for key in real if key.partition("{")[0] == sample]
        assert found, name
        assert set(re.findall(r"(\w+)=\"", found[0])) == set(re.findall(r"`(\w+)`", column)), name


def test_each_alert_leads_to_a_section_of_the_runbook() -> None:
    runbook = (ROOT / "docs" / "how-to" / "runbook.md").read_text("utf-8")
    anchors = {
        f"docs/how-to/runbook.md#{code.lower()}" for code in re.findall(r"^## `(\w+)`", runbook, re.MULTILINE)
    }
    assert {rule["annotations"]["runbook"] for rule in ALERTS} <= anchors
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["annotations"]["summary"].strip()
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


@pytest.mark.exhaustive
def test_a_restart_on_standard_output_raises_no_alarm(serve: Callable[..., Any], tmp_path: Path) -> None:
    """Each process begins a chain on stdout, so its number decreases; in a file only a removed log has that effect."""
    (rule,) = (rule for rule in ALERTS if rule["alert"] == "EvalwardAuditChainBeganAnew")
    condition = promql_parser.parse(rule["expr"])
    listen = ("--listen", f"unix:{tmp_path}/socket", "--admin-listen", "127.0.0.1:0")
    file = serve(*listen)
    with subprocess.Popen(
        [EVALWARD, "serve", "--audit-log=-", "--listen", f"unix:{tmp_path}/other", *listen[2:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as stdout:
        try:
            assert stdout.stderr is not None
            ready = json.loads(next(line for line in stdout.stderr if line.startswith("{")))
            kept = [
                values(admin, "evalward_audit_keeps_chain") for admin in (file.ready["admin"], ready["admin"])
            ]
        finally:
            stdout.kill()

    assert [list(each.values()) for each in kept] == [[1], [0]]
    assert isinstance(condition, promql_parser.BinaryExpr)
    assert str(condition.op) == "and"
    assert str(condition.rhs).replace("{}", "") == "evalward_audit_keeps_chain == 1"


PROMTOOL_CASES = """
rule_files: [rules.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'evalward_audit_head_seq{job="evalward",instance="stdout"}', values: "5 9 1 2 3"}
      - {series: 'evalward_audit_keeps_chain{job="evalward",instance="stdout"}', values: "0x4"}
      - {series: 'evalward_audit_head_seq{job="evalward",instance="file"}', values: "5 9 1 2 3"}
      - {series: 'evalward_audit_keeps_chain{job="evalward",instance="file"}', values: "1x4"}
      - {series: 'evalward_tls_not_after_timestamp_seconds{certificate="server",instance="file"}', values: "180x9"}
    alert_rule_test:
      - alertname: EvalwardAuditChainBeganAnew
        eval_time: 4m
        exp_alerts:
          - exp_labels: {job: evalward, instance: file, severity: critical}
            exp_annotations: {summary: SUMMARY, runbook: docs/how-to/runbook.md#audit_unavailable}
    promql_expr_test:
      - {expr: 'count(ALERTS{alertname="EvalwardCertificateExpires"})', eval_time: 2m, exp_samples: [{value: 1}]}
      - {expr: 'count(ALERTS{alertname="EvalwardCertificateExpired"})', eval_time: 2m}
      - {expr: 'count(ALERTS{alertname="EvalwardCertificateExpired"})', eval_time: 3m, exp_samples: [{value: 1}]}
"""


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_itself_takes_the_rules_and_fires_them_when_it_should(tmp_path: Path) -> None:
    (rule,) = (rule for rule in ALERTS if rule["alert"] == "EvalwardAuditChainBeganAnew")
    summary = rule["annotations"]["summary"].replace("{{ $labels.instance }}", "file")
    (tmp_path / "rules.yaml").write_text((FOLDER / "rules.yaml").read_text("utf-8"))
    (tmp_path / "cases.yaml").write_text(PROMTOOL_CASES.replace("SUMMARY", json.dumps(summary)))
    done = subprocess.run(
        ["promtool", "test", "rules", "cases.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_panels_of_the_dashboard_have_their_own_places() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
