"""The options of ``evalward serve`` about verdicts, the audit log, the sandbox and what it reports.

Each has its EVALWARD_* variable; ``serve`` gives the defaults. A switch has an opposite, so that a flag can override
a variable or the configuration file. The options of the sockets are in ``socket_options``.
"""

from pathlib import Path
from typing import Annotated

import typer

from evalward.audit import Durability
from evalward.cli.log_format import LogStyle

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
        help="What a record survives before the reply: the end of the process, or a loss of power.",
    ),
]

AuditRotateBytes = Annotated[
    int | None,
    typer.Option(
        envvar="EVALWARD_AUDIT_ROTATE_BYTES", min=1, help="Begin a new file above this size, in bytes."
    ),
]

AuditRotateHours = Annotated[
    float | None,
    typer.Option(
        envvar="EVALWARD_AUDIT_ROTATE_HOURS", min=0, help="Begin a new file above this age, in hours."
    ),
]

AuditFnv1A32 = Annotated[
    bool,
    typer.Option(
        "--audit-fnv1a32/--no-audit-fnv1a32",
        envvar="EVALWARD_AUDIT_FNV1A32",
        help="Add the FNV-1a of the payload to its record.",
    ),
]

AuditTimeoutMs = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_AUDIT_TIMEOUT_MS", min=1, max=60_000, help="The time limit for writing a record."
    ),
]

MaxConcurrent = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_MAX_CONCURRENT", min=1, max=256, help="Concurrent validations, with --workers 0."
    ),
]

Workers = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_WORKERS",
        metavar="N|auto",
        help="Worker processes; auto: one per core of the quota; 0: the server judges itself.",
    ),
]

Queue = Annotated[
    int, typer.Option(envvar="EVALWARD_QUEUE", min=0, max=1024, help="Requests that may wait for a worker.")
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
        help="A file that keeps the counts over restarts.",
    ),
]

EvaluationDeadlineMs = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_EVALUATION_DEADLINE_MS",
        min=1,
        max=5_000,
        help="The wall time limit of a run in the sandbox.",
    ),
]

EvaluationQueue = Annotated[
    int,
    typer.Option(envvar="EVALWARD_EVALUATION_QUEUE", min=0, max=1024, help="Runs that may wait for a core."),
]

VerdictCache = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_VERDICT_CACHE",
        min=0,
        max=1_000_000,
        help="Cached verdicts, within 16 MiB; 0: no cache.",
    ),
]

WarmSandbox = Annotated[
    bool,
    typer.Option(
        envvar="EVALWARD_WARM_SANDBOX",
        help="Build the sandbox's engine at the start, or with the first run.",
    ),
]

LogFormat = Annotated[
    LogStyle, typer.Option(envvar="EVALWARD_LOG_FORMAT", help="The format of the log on stderr.")
]

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
        help="Also send the log as OpenTelemetry logs; needs evalward[otel].",
    ),
]

PrintConfig = Annotated[
    bool,
    typer.Option("--print-config", help="Print every setting and its source, and exit."),
]

AsJson = Annotated[bool, typer.Option("--json", help="With --print-config: print one JSON object.")]
