"""``deploy/observability``: every expression parses, and asks for metrics and labels that a real server has."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import promql_parser
import pytest
import yaml
from admin_http import labels_of, names, samples

from evalward.v1 import evalward_pb2 as pb
from evalward.v1.evalward_pb2_grpc import GuardServiceStub

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "observability"
RULES = yaml.safe_load((FOLDER / "rules.yaml").read_text("utf-8"))
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text("utf-8")
# What Prometheus adds to each sample, and the one metric that it makes itself.
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
    """Return the admin address of a server that has answered enough for every metric to have a sample."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "api_version: evalward/v1\n"
        "targets: {renderer: {allowed: true, enforcement: audit}, main: {allowed: true}}\n"
    )
    process = serve("--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--policy", str(policy))
    with grpc.insecure_channel(process.listen[0]) as channel:
        stub = GuardServiceStub(channel)
        for target in (pb.TARGET_RENDERER, pb.TARGET_MAIN):
            stub.Validate(pb.ValidateRequest(code=b"process['exit'](0)", target=target), timeout=30)
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
    runbook = (ROOT / "docs" / "runbook.md").read_text("utf-8")
    anchors = {
        f"docs/runbook.md#{code.lower()}" for code in re.findall(r"^## `(\w+)`", runbook, re.MULTILINE)
    }
    assert {rule["annotations"]["runbook"] for rule in ALERTS} <= anchors
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["annotations"]["summary"].strip()
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


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
