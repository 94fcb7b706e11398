"""Judge a call by the server's own parts, without sockets."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalward.audit import AuditLog
from evalward.errors import Code, Provenance
from evalward.guard import judge
from evalward.policy import Policy
from evalward.server.call import CallDecider
from evalward.server.decision import Decider
from evalward.server.executor import InProcessExecutor
from evalward.server.ledger import Ledger
from evalward.tools import Manifest
from evalward.v1 import evalward_pb2 as pb


@pytest.fixture
def decide(tmp_path: Path) -> Callable[..., Code | None]:
    """Return a function that gives the code of a call's denial, None when it is allowed."""

    def code_of(manifest: Manifest, tool: str, arguments: Any, policy: Policy) -> Code | None:
        provenance = Provenance("0.0.0", policy.digest, "0" * 12, "tree-sitter-javascript 0.25.0")
        with AuditLog.open(tmp_path / "audit.jsonl") as log:
            ledger = Ledger(log, provenance, manifest_digest=manifest.digest)
            executor = InProcessExecutor(judge, max_concurrent=1, queue=0)
            decider = Decider(policy=policy, ledger=ledger, executor=executor, provenance=provenance)
            calls = CallDecider(decider, ledger, policy=policy, provenance=provenance, manifest=manifest)
            request = pb.ValidateCallRequest(tool=tool, arguments_json=json.dumps(arguments).encode())
            return calls.decide(request.SerializeToString(), remaining=None).answer.code

    return code_of
