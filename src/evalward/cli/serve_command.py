"""The command class of ``evalward serve``: which panel of its help each option is in."""

from typing import ClassVar

from evalward.cli.bare_allow_eval import AllowEvalCommand


class ServeCommand(AllowEvalCommand):
    """The command, with its options in several panels of the help."""

    panels: ClassVar = {
        "Sockets": (
            "listen",
            "unix_",
            "share_",
            "fronts",
            "admin_",
            "connection",
            "max_streams",
            "max_connections",
            "stream_idle",
            "drain_",
            "reflection",
            "parent",
        ),
        "Hooks and gateways": ("hook_", "server", "ext_"),
        "TLS and tokens": ("tls_", "client_", "token", "insecure"),
        "Verdicts": (
            "allow_eval",
            "policy",
            "manifest",
            "verdict_",
            "workers",
            "max_concurrent",
            "queue",
            "batch_",
        ),
        "Audit log": ("audit_",),
        "Sandbox": ("evaluation_", "warm_"),
        "Logs, traces and counts": ("log_", "traces", "otel", "error"),
    }
