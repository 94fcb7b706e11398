"""A real server in this process that hardens for pages, with its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.audit import AuditLog
from evalward.errors import Provenance
from evalward.guard import judge
from evalward.policy import parse_policy
from evalward.server.addresses import parse_listen
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


class Guard:
    """The server; ``address`` is where it listens, ``log`` its audit log."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "audit.jsonl"
        targets = {"renderer": {"allowed": True}}
        policy = parse_policy({"api_version": "evalward/v1", "targets": targets}, source="policy.yaml")
        provenance = Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0")
        self.server = Server(
            judge,
            policy=policy,
            provenance=provenance,
            audit_log=AuditLog.open(self.log),
            settings=Settings(verdict_cache=16),
        )
        self.address = self.server.start([parse_listen("127.0.0.1:0")])[0]
