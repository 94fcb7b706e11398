"""The options of ``evalward serve`` about its sockets: addresses, connections, TLS and tokens."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
        help="HOST:PORT, or unix:PATH; other hosts than loopback need TLS; repeatable.",
    ),
]

UnixMode = Annotated[
    SocketMode,
    typer.Option(
        envvar="EVALWARD_UNIX_MODE",
        help="Who may connect to Unix sockets: 0600 the user, 0660 also the group, 0666 all users.",
    ),
]

SharePort = Annotated[
    bool,
    typer.Option(
        "--share-port/--no-share-port",
        envvar="EVALWARD_SHARE_PORT",
        help="Share the TCP ports with other servers of the same user that set this option.",
    ),
]

Fronts = Annotated[
    str,
    typer.Option(
        envvar="EVALWARD_FRONTS",
        metavar="N|auto",
        help="Server processes on the same TCP ports, each with its workers and audit log; auto: one per core.",
    ),
]

Reflection = Annotated[
    bool,
    typer.Option(
        "--reflection/--no-reflection",
        envvar="EVALWARD_REFLECTION",
        help="Serve gRPC reflection; if tokens are required, it requires one too.",
    ),
]

MaxStreams = Annotated[
    int, typer.Option(envvar="EVALWARD_MAX_STREAMS", min=0, max=256, help="Concurrent streams.")
]

StreamIdle = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_STREAM_IDLE",
        min=0,
        max=86_400,
        help="Seconds without an item after which a stream ends; 0: never.",
    ),
]

ConnectionAge = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_CONNECTION_AGE",
        min=0,
        max=86_400,
        help="Seconds after which a client must reconnect, which it does automatically; 0: never.",
    ),
]

ConnectionIdle = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_CONNECTION_IDLE",
        min=0,
        max=86_400,
        help="Seconds without a call after which a connection is closed; clients reconnect automatically; 0: never.",
    ),
]

MaxConnections = Annotated[
    int,
    typer.Option(
        envvar="EVALWARD_MAX_CONNECTIONS",
        min=1,
        max=65_536,
        help="Concurrent connections, at most three quarters from one host; the longest idle are closed for new ones.",
    ),
]

DrainSeconds = Annotated[
    float,
    typer.Option(envvar="EVALWARD_DRAIN_SECONDS", min=0, help="Seconds that SIGTERM waits for requests."),
]

TlsCert = Annotated[
    Path | None,
    typer.Option(envvar="EVALWARD_TLS_CERT", help="The certificate chain (PEM) of every TCP socket."),
]

TlsKey = Annotated[
    Path | None, typer.Option(envvar="EVALWARD_TLS_KEY", help="The private key (PEM) for --tls-cert.")
]

ClientCa = Annotated[
    Path | None,
    typer.Option(envvar="EVALWARD_CLIENT_CA", help="Clients must show a certificate of this CA (PEM)."),
]

ClientName = Annotated[
    list[str],
    typer.Option(
        envvar="EVALWARD_CLIENT_NAME",
        help="Only clients whose certificate has this name may call: cert:NAME in the log; repeatable.",
    ),
]

TokenFile = Annotated[
    Path | None,
    typer.Option(
        envvar="EVALWARD_TOKEN_FILE",
        help="A private file of bearer tokens, one per line: every call must carry one.",
    ),
]

InsecureRemote = Annotated[
    bool,
    typer.Option(
        "--insecure-remote/--no-insecure-remote",
        envvar="EVALWARD_INSECURE_REMOTE",
        help="Serve other hosts without TLS: the network must be protected otherwise.",
    ),
]

AdminListen = Annotated[
    str | None,
    typer.Option(
        envvar="EVALWARD_ADMIN_LISTEN",
        metavar="HOST[:PORT]",
        help=f"Serve /livez, /readyz and /metrics at this address; default port {DEFAULT_ADMIN_PORT}. [default: off]",
    ),
]

Parent = Annotated[
    bool,
    typer.Option(
        "--parent/--no-parent",
        envvar="EVALWARD_PARENT",
        help="Exit when standard input ends; its first line is the token that every call must carry.",
    ),
]

HookListen = Annotated[
    list[str],
    typer.Option(
        envvar="EVALWARD_HOOK_LISTEN",
        metavar="ADDRESS",
        help="Answer hooks of agents here: unix:PATH, or HOST:PORT on loopback; repeatable. [default: off]",
        show_default=False,
    ),
]

ServerNames = Annotated[
    list[str],
    typer.Option(
        "--server",
        envvar="EVALWARD_SERVER",
        metavar="NAME=MANIFEST",
        help="Which manifest the server NAME of a client's configuration has: a file, ready:NAME, or playwright-mcp; "
        "for hooks and gateways; repeatable.",
        show_default=False,
    ),
]

ExtMcp = Annotated[
    bool,
    typer.Option(
        "--ext-mcp/--no-ext-mcp",
        envvar="EVALWARD_EXT_MCP",
        help="Serve agentgateway's policy protocol for MCP (ExtMcp) at --listen.",
    ),
]

ExtProc = Annotated[
    bool,
    typer.Option(
        "--ext-proc/--no-ext-proc",
        envvar="EVALWARD_EXT_PROC",
        help="Serve Envoy's external processor (ext_proc) at --listen, for MCP servers over streamable HTTP.",
    ),
]
