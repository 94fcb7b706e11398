"""The options of ``evalward serve``, each with its EVALWARD_* variable; ``serve`` gives them their defaults.

A switch has its opposite, so that a flag can take back what a variable or the configuration file says.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from evalward.audit import Durability
from evalward.cli.log_format import LogStyle
from evalward.server.addresses import DEFAULT_ADMIN_PORT


class SocketMode(StrEnum):
    """The value of ``--unix-mode``."""

    USER = "0600"
    GROUP = "0660"
    EVERYBODY = "0666"


Listen = Annotated[
    list[str],
    typer.Option(
        envvar="EVALWARD_LISTEN",
        help="HOST:PORT, or unix:PATH; beyond loopback with TLS; repeatable.",
    ),
]

UnixMode = Annotated[
    SocketMode,
    typer.Option(
        envvar="EVALWARD_UNIX_MODE",
        help="Who may connect to Unix sockets: 0600 the user, 0660 the group, too, 0666 everybody.",
    ),
]

SharePort = Annotated[
    bool,
    typer.Option(
        "--share-port/--no-share-port",
        envvar="EVALWARD_SHARE_PORT",
        help="Let servers of the same user that say so, too, listen on the same TCP ports.",
    ),
]

AllowEval = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_ALLOW_EVAL",
        metavar="[=TARGETS]",
        help="Targets whose payloads may be allowed: --allow-eval=renderer; the bare flag: all.",
    ),
]

Policy = Annotated[Path | None, typer.Option(envvar="EVALWARD_POLICY", help="A policy file (YAML or TOML).")]

Manifest = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_MANIFEST",
        help="The tools that ValidateCall routes: a file (YAML or JSON), or ready:NAME of `evalward tools ready`.",
    ),
]

AuditLog = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_AUDIT_LOG",
        help="The audit log; - is stdout. [default: evalward/audit.jsonl in XDG_STATE_HOME or ~/.local/state]",
    ),
]

AuditKey = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_AUDIT_KEY",
        help="A private file of 32 bytes or more: makes the audit log tamper-evident.",
    ),
]

AuditDurability = Annotated[
    Durability,
    typer.Option(
        envvar="EVALWARD_AUDIT_DURABILITY",
        help="What a record survives before its reply: the process's death, or the loss of power.",
    ),
]

AuditRotateBytes = Annotated[
    int | None,
    typer.Option(envvar="EVALWARD_AUDIT_ROTATE_BYTES", min=1, help="Begin a new file past this size."),
]

AuditRotateHours = Annotated[
    float | None,
    typer.Option(envvar="EVALWARD_AUDIT_ROTATE_HOURS", min=0, help="Begin a new file past this age."),
]

AuditFnv1A32 = Annotated[
    bool,
    typer.Option(
        "--audit-fnv1a32/--no-audit-fnv1a32",
        envvar="EVALWARD_AUDIT_FNV1A32",
        help="Add each payload's FNV-1a to its record.",
    ),
]

AuditTimeoutMs = Annotated[
    int,
    typer.Option(envvar="EVALWARD_AUDIT_TIMEOUT_MS", min=1, max=60_000, help="How long a record may take."),
]

Reflection = Annotated[
    bool,
    typer.Option(
        "--reflection/--no-reflection",
        envvar="EVALWARD_REFLECTION",
        help="Serve gRPC reflection; where tokens are asked for, reflection asks for one, too.",
    ),
]

MaxConcurrent = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_MAX_CONCURRENT", min=1, max=256, help="Validations at one time, with --workers 0."
    ),
]

Workers = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_WORKERS",
        metavar="N|auto",
        help="Processes that judge; auto: one a core of the quota; 0: the server itself judges.",
    ),
]

Queue = Annotated[
    int, typer.Option(envvar="EVALWARD_QUEUE", min=0, max=1024, help="Requests that may wait for one.")
]

BatchItems = Annotated[
    int,
    typer.Option(envvar="EVALWARD_BATCH_ITEMS", min=1, max=10_000, help="Items of a batch or a stream."),
]

BatchBytes = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_BATCH_BYTES",
        min=1,
        max=64 * 1024 * 1024,
        help="Bytes of a batch or a stream, its items' other fields included.",
    ),
]

MaxStreams = Annotated[
    int, typer.Option(envvar="EVALWARD_MAX_STREAMS", min=0, max=256, help="Streams open at one time.")
]

StreamIdle = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_STREAM_IDLE",
        min=0,
        max=86_400,
        help="Seconds without an item after which a stream is ended; 0: never.",
    ),
]

ConnectionAge = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_CONNECTION_AGE",
        min=0,
        max=86_400,
        help="Seconds after which a client has to connect anew, which it does by itself; 0: never.",
    ),
]

ConnectionIdle = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_CONNECTION_IDLE",
        min=0,
        max=86_400,
        help="Seconds without a call after which a connection is closed; clients come again by themselves; 0: never.",
    ),
]

MaxConnections = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_MAX_CONNECTIONS",
        min=1,
        max=65_536,
        help="Connections at one time, three quarters of them from one host; the idlest give way to those who come.",
    ),
]

ErrorsVerbose = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_ERRORS_VERBOSE",
        help="Stack frames in the envelope of INTERNAL: a number, or full.",
    ),
]

ErrorStats = Annotated[
    bool,
    typer.Option(
        "--error-stats/--no-error-stats",
        envvar="EVALWARD_ERROR_STATS",
        help="Count failures and answer GetErrorStats.",
    ),
]

ErrorStatsEvery = Annotated[
    int,
    typer.Option(envvar="EVALWARD_ERROR_STATS_EVERY", min=1, help="Count every nth failure only."),
]

ErrorStatsFile = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_ERROR_STATS_FILE",
        help="Where a graceful stop keeps the counts for the next start.",
    ),
]

DrainSeconds = Annotated[
    float,
    typer.Option(envvar="EVALWARD_DRAIN_SECONDS", min=0, help="How long SIGTERM waits for requests."),
]

EvaluationDeadlineMs = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_EVALUATION_DEADLINE_MS",
        min=1,
        max=5_000,
        help="Wall time that a run in the sandbox may take.",
    ),
]

EvaluationQueue = Annotated[
    int,
    typer.Option(envvar="EVALWARD_EVALUATION_QUEUE", min=0, max=1024, help="Runs that may wait for a core."),
]

TlsCert = Annotated[
    Path | None,
    typer.Option(envvar="EVALWARD_TLS_CERT", help="The certificate chain (PEM) of every TCP socket."),
]

TlsKey = Annotated[
    Path | None, typer.Option(envvar="EVALWARD_TLS_KEY", help="The private key (PEM) to --tls-cert.")
]

ClientCa = Annotated[
    Path | None,
    typer.Option(envvar="EVALWARD_CLIENT_CA", help="Clients must show a certificate of this CA (PEM)."),
]

ClientName = Annotated[
    list[str],
    typer.Option(
        envvar="EVALWARD_CLIENT_NAME",
        help="Only clients whose certificate has this name may ask: cert:NAME in the log; repeatable.",
    ),
]

TokenFile = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_TOKEN_FILE",
        help="A private file of bearer tokens, one a line: every call must carry one.",
    ),
]

InsecureRemote = Annotated[
    bool,
    typer.Option(
        "--insecure-remote/--no-insecure-remote",
        envvar="EVALWARD_INSECURE_REMOTE",
        help="Serve beyond loopback without TLS: something else must protect the network.",
    ),
]

VerdictCache = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_VERDICT_CACHE",
        min=0,
        max=1_000_000,
        help="Verdicts to remember, within 16 MiB; 0: none.",
    ),
]

WarmSandbox = Annotated[
    bool,
    typer.Option(
        envvar="EVALWARD_WARM_SANDBOX",
        help="Build the sandbox's engine after the start, or with the first run.",
    ),
]

AdminListen = Annotated[
    str | None,
    typer.Option(
        envvar="EVALWARD_ADMIN_LISTEN",
        metavar="HOST[:PORT]",
        help=f"Serve /livez, /readyz and /metrics there; port {DEFAULT_ADMIN_PORT} unless given. [default: off]",
    ),
]

LogFormat = Annotated[LogStyle, typer.Option(envvar="EVALWARD_LOG_FORMAT", help="How stderr is written.")]

Traces = Annotated[
    bool,
    typer.Option(
        "--traces/--no-traces",
        envvar="EVALWARD_TRACES",
        help="Send OpenTelemetry spans to where OTEL_EXPORTER_OTLP_ENDPOINT says; needs evalward[otel].",
    ),
]

OtelLogs = Annotated[
    bool,
    typer.Option(
        "--otel-logs/--no-otel-logs",
        envvar="EVALWARD_OTEL_LOGS",
        help="Send the lines of stderr as OpenTelemetry logs, too; needs evalward[otel].",
    ),
]

Parent = Annotated[
    bool,
    typer.Option(
        "--parent/--no-parent",
        envvar="EVALWARD_PARENT",
        help="End when standard input ends; its first line is the token that every call must carry.",
    ),
]

PrintConfig = Annotated[
    bool,
    typer.Option("--print-config", help="Print every setting and where it came from, and do not serve."),
]

AsJson = Annotated[bool, typer.Option("--json", help="With --print-config: print one JSON object.")]
