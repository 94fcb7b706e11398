"""``evalward serve``: run the sidecar until SIGTERM or SIGINT.

``serve`` is a Typer app of one command, since ``--allow-eval`` needs a command class of its own.
"""

import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from evalward.audit import AuditLog, Durability, Rotation, load_key
from evalward.cli import guard_values, serve_fronts
from evalward.cli import serve_options as options
from evalward.cli import serve_values as values
from evalward.cli import socket_options as sockets
from evalward.cli.audit_place import default_audit_log
from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.log_format import LogStyle, log_to_stderr
from evalward.cli.serve_command import ServeCommand
from evalward.cli.serve_config import ConfigError, as_object, as_text, read_configuration, settings_in_force
from evalward.cli.serve_process import SIGNALS, announce, signals_held, telemetry
from evalward.cli.serverless import provenance
from evalward.errors import CodedError
from evalward.errors.stats import ErrorStats
from evalward.guard.repair import judge_repaired
from evalward.guard.target import Target
from evalward.judging.core_dumps import disable_core_dumps
from evalward.judging.self_test import SelfTestError
from evalward.policy import Policy, load_policy
from evalward.server.addresses import DEFAULT_LISTEN, ListenError
from evalward.server.fronts.front_role import FrontRole, NoRoleError
from evalward.server.lifecycle.critical_threads import exit_on_critical_failure, exit_process, failure_site
from evalward.server.lifecycle.malloc_arenas import bound_malloc_arenas
from evalward.server.lifecycle.parent_pipe import NoTokenError, read_token, when_closed
from evalward.server.lifecycle.policy_reload import PolicyFile
from evalward.server.lifecycle.sidecar import Server
from evalward.server.settings import Settings
from evalward.server.transport.token_file import TokenFile
from evalward.server.transport.token_gate import Tokens
from evalward.tools.manifest_source import load_manifest
from evalward.tools.servers import Servers

DEFAULTS = Settings()
# The audit log's thread and the request that waits for it take turns; at Python's 5 ms each turn would wait as
# long as another thread parses.
SWITCH_SECONDS = 0.001


def _take_file(context: typer.Context, file: Path | None) -> Path | None:
    """Make the settings of the configuration file Typer's defaults, below flags and variables."""
    if file is not None and not context.resilient_parsing:
        try:
            context.default_map = read_configuration(file, run)
        except ConfigError as refusal:
            _fail(f"{refusal.code}: {refusal.message}")
    return file


Config = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_CONFIG",
        is_eager=True,
        callback=_take_file,
        help="A settings file (YAML or TOML): the flags' names, with _ for -.",
    ),
]

serve = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@serve.command(cls=ServeCommand)
def run(  # noqa: PLR0913 - one parameter per option
    context: typer.Context,
    *,
    config: Config = None,  # noqa: ARG001 - its callback has read it
    listen: sockets.Listen = [DEFAULT_LISTEN],  # noqa: B006 - never modified
    unix_mode: sockets.UnixMode = sockets.SocketMode.GROUP,
    share_port: sockets.SharePort = DEFAULTS.share_port,
    fronts: sockets.Fronts = "1",
    allow_eval: options.AllowEval = "",
    policy: options.Policy = None,
    manifest: options.Manifest = None,
    audit_log: options.AuditLog = None,
    audit_key: options.AuditKey = None,
    audit_durability: options.AuditDurability = Durability.PROCESS,
    audit_rotate_bytes: options.AuditRotateBytes = None,
    audit_rotate_hours: options.AuditRotateHours = None,
    audit_fnv1a32: options.AuditFnv1A32 = False,
    audit_timeout_ms: options.AuditTimeoutMs = 1_000,
    reflection: sockets.Reflection = DEFAULTS.reflection,
    max_concurrent: options.MaxConcurrent = DEFAULTS.max_concurrent,
    workers: options.Workers = "1",
    queue: options.Queue = DEFAULTS.queue,
    batch_items: options.BatchItems = DEFAULTS.batch_items,
    batch_bytes: options.BatchBytes = DEFAULTS.batch_bytes,
    max_streams: sockets.MaxStreams = DEFAULTS.max_streams,
    stream_idle: sockets.StreamIdle = DEFAULTS.stream_idle,
    connection_age: sockets.ConnectionAge = DEFAULTS.connection_age,
    connection_idle: sockets.ConnectionIdle = DEFAULTS.connection_idle,
    max_connections: sockets.MaxConnections = DEFAULTS.max_connections,
    errors_verbose: options.ErrorsVerbose = "0",
    error_stats: options.ErrorStats = False,
    error_stats_every: options.ErrorStatsEvery = 1,
    error_stats_file: options.ErrorStatsFile = None,
    drain_seconds: sockets.DrainSeconds = DEFAULTS.drain_seconds,
    evaluation_deadline_ms: options.EvaluationDeadlineMs = DEFAULTS.evaluation_deadline_ms,
    evaluation_queue: options.EvaluationQueue = DEFAULTS.evaluation_queue,
    tls_cert: sockets.TlsCert = None,
    tls_key: sockets.TlsKey = None,
    client_ca: sockets.ClientCa = None,
    client_name: sockets.ClientName = [],  # noqa: B006 - never modified
    token_file: sockets.TokenFile = None,
    insecure_remote: sockets.InsecureRemote = False,
    verdict_cache: options.VerdictCache = DEFAULTS.verdict_cache,
    warm_sandbox: options.WarmSandbox = DEFAULTS.warm_sandbox,
    admin_listen: sockets.AdminListen = None,
    hook_listen: sockets.HookListen = [],  # noqa: B006 - never modified
    server: sockets.ServerNames = [],  # noqa: B006 - never modified
    ext_mcp: sockets.ExtMcp = DEFAULTS.ext_mcp,
    ext_proc: sockets.ExtProc = DEFAULTS.ext_proc,
    log_format: options.LogFormat = LogStyle.TEXT,
    traces: options.Traces = False,
    otel_logs: options.OtelLogs = False,
    parent: sockets.Parent = False,
    print_config: options.PrintConfig = False,
    as_json: options.AsJson = False,
) -> None:
    """Serve verdicts over gRPC until SIGTERM. One JSON line on stdout reports the addresses when it is ready.

    Settings come from flags, else from EVALWARD_* variables, else from the --config file, else from defaults. A
    changed policy or token file is reloaded; an invalid file is rejected and logged, and the previous one stays.
    SIGHUP reloads at once, and reopens the audit log by its name.

    \b
    Examples:
      evalward serve --allow-eval=renderer
      evalward serve --listen unix:/run/evalward/evalward.sock --policy policy.yaml --audit-log audit.jsonl
      evalward serve --config serve.yaml --print-config
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    if as_json and not print_config:
        raise typer.BadParameter("--json requires --print-config")
    if print_config:
        in_force = [*settings_in_force(context, run, computed={"audit_log": default_audit_log()})]
        typer.echo(json.dumps(as_object(in_force)) if as_json else "\n".join(as_text(in_force)))
        return
    if parent and token_file is not None:
        raise typer.BadParameter("--parent has its own token; it excludes --token-file")
    role, count = _role(), serve_fronts.fronts(fronts)
    place = serve_fronts.Place(
        listen=tuple(values.address(text) for text in listen),
        hooks=tuple(values.address(text) for text in hook_listen),
        admin=None if admin_listen is None else values.admin_address(admin_listen),
        audit_log=audit_log or _made_default_log(),
        share_port=share_port,
        token=_token(audit_log) if parent and role is None else None,
    ).of(role)
    targets = guard_values.targets(allow_eval)
    log_to_stderr(log_format)
    if role is None and count > 1:
        _supervise(place, count, drain_seconds)
        return
    disable_core_dumps()
    bound_malloc_arenas()
    sys.setswitchinterval(SWITCH_SECONDS)
    settings = Settings(
        max_concurrent=max_concurrent,
        workers=guard_values.workers(workers),
        queue=queue,
        batch_items=batch_items,
        batch_bytes=batch_bytes,
        max_streams=max_streams,
        stream_idle=stream_idle,
        connection_age=connection_age,
        connection_idle=connection_idle,
        max_connections=max_connections,
        listeners=len(place.listen),
        unix_mode=int(unix_mode, 8),
        share_port=place.share_port,
        errors_verbose=values.frames(errors_verbose),
        drain_seconds=drain_seconds,
        reflection=reflection,
        evaluation_deadline_ms=evaluation_deadline_ms,
        evaluation_queue=evaluation_queue,
        verdict_cache=verdict_cache,
        warm_sandbox=warm_sandbox,
        tls=values.tls_files(tls_cert, tls_key, client_ca),
        client_names=values.client_names(client_name, has_ca=client_ca is not None),
        insecure_remote=insecure_remote,
        admin=place.admin,
        hooks=place.hooks,
        ext_mcp=ext_mcp,
        ext_proc=ext_proc,
    )
    try:
        effective = _policy(policy, targets)
        tokens = TokenFile(token_file) if token_file else Tokens([place.token]) if place.token else None
        key = None if audit_key is None else load_key(audit_key)
        tools = None if manifest is None else load_manifest(manifest)
        servers = Servers.parse(server).load(needed=bool(hook_listen or ext_mcp or ext_proc))
        stats = ErrorStats(every=error_stats_every, file=error_stats_file) if error_stats else None
        with (
            signals_held(),
            telemetry(traces=traces, logs=otel_logs) as spans,
            exit_on_critical_failure(),
        ):
            sidecar = Server(
                judge_repaired,
                policy=effective,
                provenance=provenance(effective),
                audit_log=AuditLog.open(
                    place.audit_log,
                    key=key,
                    durability=audit_durability,
                    rotation=Rotation(
                        audit_rotate_bytes, None if audit_rotate_hours is None else audit_rotate_hours * 3600
                    ),
                    fnv1a32=audit_fnv1a32,
                    patience=audit_timeout_ms / 1000,
                ),
                settings=settings,
                tokens=tokens,
                policy_file=PolicyFile(policy, lambda: _policy(policy, targets)) if policy else None,
                manifest=tools,
                servers=servers,
                stats=stats,
                observers=[] if spans is None else [spans],
            )
            bound = sidecar.start(place.listen)
            # The objects so far live until the end: frozen, they do not slow down collections during requests.
            gc.collect()
            gc.freeze()
            announce(bound, place.audit_log, admin=sidecar.admin_address, hooks=sidecar.hook_addresses)
            try:
                sidecar.warm_up()
                if parent or role is not None:
                    when_closed(sys.stdin.buffer, lambda: os.kill(os.getpid(), signal.SIGTERM))
                while signal.sigwait(SIGNALS) == signal.SIGHUP:
                    sidecar.reload()
                sidecar.stop()
            except Exception as failure:  # noqa: BLE001 - the other threads would continue without this one
                exit_process(f"the main thread failed: {failure_site(failure)}")
    except CodedError as error:
        _fail(f"{error.code}: {error.message}")
    except (ListenError, SelfTestError, OSError, ValueError, RuntimeError) as error:
        _fail(str(error))


def _role() -> FrontRole | None:
    try:
        return serve_fronts.role()
    except NoRoleError as refusal:
        _fail(str(refusal))


def _supervise(place: serve_fronts.Place, count: int, drain_seconds: float) -> None:
    try:
        ended_well = serve_fronts.supervise(place, count, drain_seconds=drain_seconds)
    except (ListenError, RuntimeError, OSError) as error:
        _fail(str(error))
    if not ended_well:
        _fail("a front did not end by itself: its log may have no stop record")


def _made_default_log() -> Path:
    file = default_audit_log()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return file


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


def _fail(message: str) -> NoReturn:
    typer.echo(f"evalward serve: {message}", err=True)
    raise typer.Exit(INFRASTRUCTURE_FAILURE)
