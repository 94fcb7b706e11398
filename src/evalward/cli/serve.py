"""``evalward serve``: run the sidecar until SIGTERM or SIGINT.

``serve`` is a Typer app of one command, since ``--allow-eval`` needs a command class of its own.
"""

import contextlib
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from evalward.audit import SCHEMA_VERSION, STDOUT, AuditLog, Durability, Rotation, load_key
from evalward.cli.audit_place import default_audit_log
from evalward.cli.serverless import provenance
from evalward.errors import CodedError
from evalward.errors.stack import parse_verbose
from evalward.errors.stats import ErrorStats
from evalward.guard import judge
from evalward.guard.target import Target
from evalward.policy import Policy, load_policy, parse_allow_eval
from evalward.server.lifecycle import Server, Settings
from evalward.server.listen import DEFAULT_LISTEN, ListenError, TcpAddress, UnixAddress, parse_listen
from evalward.server.parent import NoTokenError, read_token, when_closed
from evalward.server.service import ERROR_CODES_SCHEMA
from evalward.server.tls import TlsFiles
from evalward.tools.load import load_manifest

USAGE = 2
INFRASTRUCTURE_FAILURE = 3
DEFAULTS = Settings()
SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
# The audit log's thread and the request that waits for it take turns; at Python's 5 ms each turn would wait as
# long as another thread parses.
SWITCH_SECONDS = 0.001


class BareAllowEval(TyperCommand):
    """Reads a bare ``--allow-eval`` as ``--allow-eval=all``: Typer has no options with an optional value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spell out the bare flag, then parse."""
        return super().parse_args(ctx, ["--allow-eval=all" if arg == "--allow-eval" else arg for arg in args])


def _targets(value: str) -> frozenset[Target]:
    try:
        return parse_allow_eval(value)
    except CodedError as error:
        raise typer.BadParameter(error.message) from None


def _frames(text: str) -> int:
    try:
        return parse_verbose(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _address(text: str) -> TcpAddress | UnixAddress:
    try:
        return parse_listen(text)
    except ListenError as refusal:
        raise typer.BadParameter(str(refusal)) from None


serve = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@serve.command(cls=BareAllowEval)
def run(  # noqa: PLR0913 - one parameter per option
    *,
    listen: Annotated[
        list[str] | None,
        typer.Option(
            envvar="EVALWARD_LISTEN",
            help=f"HOST:PORT on loopback, or unix:PATH; repeatable. [default: {DEFAULT_LISTEN}]",
        ),
    ] = None,
    allow_eval: Annotated[
        str,
        typer.Option(
            envvar="EVALWARD_ALLOW_EVAL",
            metavar="[=TARGETS]",
            help="Targets whose payloads may be allowed: --allow-eval=renderer; the bare flag: all.",
        ),
    ] = "",
    policy: Annotated[
        Path | None, typer.Option(envvar="EVALWARD_POLICY", help="A policy file (YAML or TOML).")
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(envvar="EVALWARD_MANIFEST", help="The tools that ValidateCall routes (YAML or JSON)."),
    ] = None,
    audit_log: Annotated[
        Path | None,
        typer.Option(
            envvar="EVALWARD_AUDIT_LOG",
            help="The audit log; - is stdout. [default: evalward/audit.jsonl in XDG_STATE_HOME or ~/.local/state]",
        ),
    ] = None,
    audit_key: Annotated[
        Path | None,
        typer.Option(
            envvar="EVALWARD_AUDIT_KEY",
            help="A private file of 32 bytes or more: makes the audit log tamper-evident.",
        ),
    ] = None,
    audit_durability: Annotated[
        Durability,
        typer.Option(
            envvar="EVALWARD_AUDIT_DURABILITY",
            help="What a record survives before its reply: the process's death, or the loss of power.",
        ),
    ] = Durability.PROCESS,
    audit_rotate_bytes: Annotated[
        int | None,
        typer.Option(envvar="EVALWARD_AUDIT_ROTATE_BYTES", min=1, help="Begin a new file past this size."),
    ] = None,
    audit_rotate_hours: Annotated[
        float | None,
        typer.Option(envvar="EVALWARD_AUDIT_ROTATE_HOURS", min=0, help="Begin a new file past this age."),
    ] = None,
    audit_fnv1a32: Annotated[
        bool,
        typer.Option(
            "--audit-fnv1a32",
            envvar="EVALWARD_AUDIT_FNV1A32",
            help="Add each payload's FNV-1a to its record.",
        ),
    ] = False,
    audit_timeout_ms: Annotated[
        int,
        typer.Option(
            envvar="EVALWARD_AUDIT_TIMEOUT_MS", min=1, max=60_000, help="How long a record may take."
        ),
    ] = 1_000,
    reflection: Annotated[
        bool, typer.Option("--reflection", envvar="EVALWARD_REFLECTION", help="Serve gRPC reflection.")
    ] = DEFAULTS.reflection,
    max_concurrent: Annotated[
        int, typer.Option(envvar="EVALWARD_MAX_CONCURRENT", min=1, max=256, help="Validations at one time.")
    ] = DEFAULTS.max_concurrent,
    queue: Annotated[
        int, typer.Option(envvar="EVALWARD_QUEUE", min=0, max=1024, help="Requests that may wait for one.")
    ] = DEFAULTS.queue,
    batch_items: Annotated[
        int,
        typer.Option(envvar="EVALWARD_BATCH_ITEMS", min=1, max=10_000, help="Items of a batch or a stream."),
    ] = DEFAULTS.batch_items,
    batch_bytes: Annotated[
        int,
        typer.Option(
            envvar="EVALWARD_BATCH_BYTES", min=1, max=64 * 1024 * 1024, help="Bytes of a batch or a stream."
        ),
    ] = DEFAULTS.batch_bytes,
    max_streams: Annotated[
        int, typer.Option(envvar="EVALWARD_MAX_STREAMS", min=0, max=256, help="Streams open at one time.")
    ] = DEFAULTS.max_streams,
    errors_verbose: Annotated[
        str,
        typer.Option(
            envvar="EVALWARD_ERRORS_VERBOSE",
            help="Stack frames in the envelope of INTERNAL: a number, or full.",
        ),
    ] = "0",
    error_stats: Annotated[
        bool,
        typer.Option(
            "--error-stats", envvar="EVALWARD_ERROR_STATS", help="Count failures and answer GetErrorStats."
        ),
    ] = False,
    error_stats_every: Annotated[
        int,
        typer.Option(envvar="EVALWARD_ERROR_STATS_EVERY", min=1, help="Count every nth failure only."),
    ] = 1,
    error_stats_file: Annotated[
        Path | None,
        typer.Option(
            envvar="EVALWARD_ERROR_STATS_FILE",
            help="Where a graceful stop keeps the counts for the next start.",
        ),
    ] = None,
    drain_seconds: Annotated[
        float,
        typer.Option(envvar="EVALWARD_DRAIN_SECONDS", min=0, help="How long SIGTERM waits for requests."),
    ] = DEFAULTS.drain_seconds,
    evaluation_deadline_ms: Annotated[
        int,
        typer.Option(
            envvar="EVALWARD_EVALUATION_DEADLINE_MS",
            min=1,
            max=5_000,
            help="Wall time that a run in the sandbox may take.",
        ),
    ] = DEFAULTS.evaluation_deadline_ms,
    evaluation_queue: Annotated[
        int,
        typer.Option(
            envvar="EVALWARD_EVALUATION_QUEUE", min=0, max=1024, help="Runs that may wait for a core."
        ),
    ] = DEFAULTS.evaluation_queue,
    tls_cert: Annotated[
        Path | None,
        typer.Option(envvar="EVALWARD_TLS_CERT", help="The certificate chain (PEM) of every TCP socket."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(envvar="EVALWARD_TLS_KEY", help="The private key (PEM) to --tls-cert.")
    ] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(envvar="EVALWARD_CLIENT_CA", help="Clients must show a certificate of this CA (PEM)."),
    ] = None,
    insecure_remote: Annotated[
        bool,
        typer.Option(
            "--insecure-remote",
            envvar="EVALWARD_INSECURE_REMOTE",
            help="Serve beyond loopback without TLS: something else must protect the network.",
        ),
    ] = False,
    verdict_cache: Annotated[
        int,
        typer.Option(
            envvar="EVALWARD_VERDICT_CACHE",
            min=0,
            max=1_000_000,
            help="Verdicts to remember, within 16 MiB; 0: none.",
        ),
    ] = DEFAULTS.verdict_cache,
    warm_sandbox: Annotated[
        bool,
        typer.Option(
            envvar="EVALWARD_WARM_SANDBOX",
            help="Build the sandbox's engine after the start, or with the first run.",
        ),
    ] = DEFAULTS.warm_sandbox,
    parent: Annotated[
        bool,
        typer.Option(
            "--parent",
            help="End when standard input ends; its first line is the token that every call must carry.",
        ),
    ] = False,
) -> None:
    """Serve verdicts over gRPC until SIGTERM. One JSON line on stdout says when and where it serves.

    SIGHUP goes on in the file that has the audit log's name then, where the old one was renamed.

    \b
    Examples:
      evalward serve --allow-eval=renderer
      evalward serve --listen unix:/run/evalward/evalward.sock --policy policy.yaml --audit-log audit.jsonl
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    addresses = [_address(text) for text in listen or [DEFAULT_LISTEN]]
    token = _token(audit_log) if parent else None
    targets = _targets(allow_eval)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    sys.setswitchinterval(SWITCH_SECONDS)
    settings = Settings(
        max_concurrent=max_concurrent,
        queue=queue,
        batch_items=batch_items,
        batch_bytes=batch_bytes,
        max_streams=max_streams,
        errors_verbose=_frames(errors_verbose),
        drain_seconds=drain_seconds,
        reflection=reflection,
        evaluation_deadline_ms=evaluation_deadline_ms,
        evaluation_queue=evaluation_queue,
        verdict_cache=verdict_cache,
        warm_sandbox=warm_sandbox,
        tls=_tls(tls_cert, tls_key, client_ca),
        insecure_remote=insecure_remote,
    )
    try:
        effective = _policy(policy, targets)
        key = None if audit_key is None else load_key(audit_key)
        tools = None if manifest is None else load_manifest(manifest)
        stats = ErrorStats(every=error_stats_every, file=error_stats_file) if error_stats else None
        log_path = audit_log or default_audit_log()
        if audit_log is None:
            log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _signals_held():
            server = Server(
                judge,
                policy=effective,
                provenance=provenance(effective),
                audit_log=AuditLog.open(
                    log_path,
                    key=key,
                    durability=audit_durability,
                    rotation=Rotation(
                        audit_rotate_bytes, None if audit_rotate_hours is None else audit_rotate_hours * 3600
                    ),
                    fnv1a32=audit_fnv1a32,
                    patience=audit_timeout_ms / 1000,
                ),
                settings=settings,
                token=token,
                manifest=tools,
                stats=stats,
            )
            bound = server.start(addresses)
            # What stands now stands until the end: no request has to wait while the collector looks through it.
            gc.collect()
            gc.freeze()
            _announce(bound, log_path)
            server.warm_up()
            if parent:
                when_closed(sys.stdin.buffer, lambda: os.kill(os.getpid(), signal.SIGTERM))
            while signal.sigwait(SIGNALS) == signal.SIGHUP:
                server.reopen_audit_log()
            server.stop()
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")
    except (ListenError, OSError, ValueError) as error:
        _fail(str(error))


def _tls(certificate: Path | None, key: Path | None, client_ca: Path | None) -> TlsFiles | None:
    """Return what the three options say; half of a setting is a usage error, never plain text."""
    if certificate is not None and key is not None:
        return TlsFiles(certificate, key, client_ca)
    if certificate is None and key is None and client_ca is None:
        return None
    raise typer.BadParameter("TLS needs --tls-cert and --tls-key; --client-ca goes with them")


def _token(audit_log: Path | None) -> str:
    if audit_log == Path("-"):
        raise typer.BadParameter("--parent keeps stdout for the ready line; log to a file.")
    try:
        return read_token(sys.stdin.buffer)
    except NoTokenError as refusal:
        raise typer.BadParameter(str(refusal)) from None


def _policy(file: Path | None, targets: frozenset[Target]) -> Policy:
    policy = Policy.default() if file is None else load_policy(file)
    return policy.allowing(targets) if targets else policy


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Keep the signals for ``sigwait``: a handler could run inside any lock. Threads inherit the mask."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _announce(bound: list[str], log_path: Path) -> None:
    logging.getLogger("evalward").info("audit log: %s", log_path)
    ready = {
        "type": "ready",
        "listen": bound,
        "schema": {"errorCodes": ERROR_CODES_SCHEMA, "audit": SCHEMA_VERSION},
        "version": version("evalward"),
        "pid": os.getpid(),
    }
    # With the audit log on stdout, stdout has records and nothing else.
    stream = sys.stderr if str(log_path) == STDOUT else sys.stdout
    stream.write(json.dumps(ready, separators=(",", ":")) + "\n")
    stream.flush()


def _fail(message: str) -> None:
    typer.echo(f"evalward serve: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
