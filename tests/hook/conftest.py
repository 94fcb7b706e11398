"""The hooks of each product as the service decides them: the real guard, the ready manifests, an audit log."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from hook_service import Hooks

from evalward.audit import AuditLog
from evalward.cli.serverless import provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.judging.in_process import InProcessExecutor
from evalward.policy import Policy
from evalward.server.decide.active_policy import DeciderParts
from evalward.tools.servers import Servers


@cache
def usual_servers() -> Servers:
    return Servers.parse(["my-browser=playwright-mcp", "files=chrome-devtools-mcp/slim"]).load()


@pytest.fixture(scope="module")
def hooks_under(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Policy], Hooks]]:
    logs: list[AuditLog] = []

    def made(policy: Policy) -> Hooks:
        path = tmp_path_factory.mktemp("hooks") / "audit.jsonl"
        logs.append(AuditLog.open(path))
        executor = InProcessExecutor(judge, max_concurrent=1, queue=8)
        parts = DeciderParts.without_sockets(logs[-1], executor, servers=usual_servers())
        return Hooks(parts.under(policy, provenance(policy)).server_calls, path)

    yield made
    for log in logs:
        log.close()


@pytest.fixture(scope="module")
def hooks(hooks_under: Callable[[Policy], Hooks]) -> Hooks:
    return hooks_under(Policy.default().allowing([Target.RENDERER]))
