"""The guard of ``evalward mcp`` from its options; what cannot be used ends the command with a message."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import typer

from evalward.audit import AuditLog, AuditUnavailable
from evalward.cli import guard_values as values
from evalward.cli.audit_place import own_audit_log
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.serverless import provenance
from evalward.errors import CodedError
from evalward.guard.target import Target
from evalward.judging.core_dumps import disable_core_dumps
from evalward.policy import Policy, load_policy
from evalward.proxy.call_guard import CallGuard
from evalward.proxy.local_guard import LocalGuard
from evalward.tools import Manifest
from evalward.tools.manifest_source import load_manifest

_SESSION = "mcp"


def manifest_of(source: Path | None) -> Manifest | None:
    """Return the operator's manifest, None where the server's tools choose it."""
    try:
        return None if source is None else load_manifest(source)
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")


def guard_of(
    *, server: str | None, policy: Path | None, allow_eval: str, audit_log: Path | None, workers: str
) -> CallGuard:
    """Return a guard in this process, or the running one at ``server``."""
    if server is not None:
        from evalward.proxy.remote_guard import RemoteGuard  # noqa: PLC0415 - loads gRPC

        if policy is not None or allow_eval or audit_log is not None:
            why = "a running service has a policy and an audit log of its own"
            raise typer.BadParameter(why, param_hint="--server")
        try:
            return RemoteGuard(server, token=os.environ.get("EVALWARD_TOKEN"), session=_SESSION)
        except (OSError, TypeError, ValueError) as error:
            raise typer.BadParameter(str(error), param_hint="--server") from None
    disable_core_dumps()
    effective = policy_of(policy, values.targets(allow_eval))
    count = 0 if sys.platform == "win32" else values.workers(workers)
    try:
        log = AuditLog.open(audit_log or own_audit_log())
        return LocalGuard(effective, provenance(effective), log, workers=count, session=_SESSION)
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")
    except (AuditUnavailable, OSError, RuntimeError) as error:
        _fail(str(error))


def policy_of(file: Path | None, targets: frozenset[Target]) -> Policy:
    """Return the policy in ``file``, or the default one, with ``targets`` opted in."""
    try:
        found = Policy.default() if file is None else load_policy(file)
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")
    return found.allowing(targets) if targets else found


def _fail(message: str) -> NoReturn:
    typer.echo(f"evalward mcp: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
