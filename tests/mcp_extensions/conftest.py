"""A real service in this process, with the manifest of the servers under test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from evalward.audit import AuditLog
from evalward.client import AsyncGuardClient
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.server.addresses import parse_listen
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings
from evalward.tools import Manifest, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

EVAL_PAGE = {
    "name": "eval_page",
    "operation_type": "eval",
    "target": "renderer",
    "shape": "expression",
    "source_fields": ["code"],
}
FILL = {"name": "fill", "operation_type": "command"}


@pytest.fixture
def manifest() -> Manifest:
    return parse_manifest({"api_version": "evalward/v1", "tools": [EVAL_PAGE, FILL]}, source="the test")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def address(tmp_path: Path, manifest: Manifest, log: Path) -> Iterator[str]:
    """Serve the real guard, which permits eval in the renderer; yield its address."""
    policy = Policy.default().allowing([Target.RENDERER])
    server = Server(
        judge,
        policy=policy,
        provenance=Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0"),
        audit_log=AuditLog.open(log),
        settings=Settings(warm_sandbox=False),
        manifest=manifest,
    )
    yield server.start([parse_listen(f"unix:{tmp_path}/guard.sock")])[0]
    server.stop()


@pytest.fixture
def run(
    address: str, manifest: Manifest, request: pytest.FixtureRequest
) -> Callable[[Callable[[Any], Awaitable[None]]], None]:
    """Run a test's body with the ``Setup`` of its module and an open guard client."""

    def start(body: Callable[[Any], Awaitable[None]]) -> None:
        async def inside() -> None:
            async with AsyncGuardClient(address, timeout=10) as guard:
                await body(request.module.Setup(guard, manifest))

        asyncio.run(inside())

    return start
