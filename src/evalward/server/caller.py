"""Who calls, and in which trace: what the transport says of a call, as far as the audit log takes it.

gRPC's Python server does not tell the user id at the other end of a Unix socket: ``peer()`` is ``unix:`` for all of
them, with credentials for local connections, too, and nothing connects a call with one of the process's descriptors. So
a caller there has a principal only by its token, and there is none of the form ``uid:``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.server.challenge import ProvenContext

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import grpc

TRACEPARENT: Final = "traceparent"
# W3C Trace Context §3.2: version ff is invalid; what a later version adds comes after the four known fields.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,256})?")
_KNOWN_VERSION: Final = "00"
CERTIFICATE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}")
_ID_DIGITS: Final = 16


class Trace(NamedTuple):
    """The caller's place in a trace, all in lower-case hexadecimal: 32, 16 and 2 digits."""

    trace_id: str
    parent_id: str
    flags: str

    def __str__(self) -> str:
        return f"{_KNOWN_VERSION}-{self.trace_id}-{self.parent_id}-{self.flags}"


class Asker(NamedTuple):
    """Whose load a request is: a principal, or else a host, and the connection over which it came."""

    caller: str
    connection: str


class Caller(NamedTuple):
    """``principal`` is ``cert:NAME`` or ``token:ID`` (``evalward.audit.record`` has the pattern).

    ``peer`` is the address at the other end as gRPC writes it, for sharing what there is; no record has it.
    """

    trace: Trace | None = None
    principal: str | None = None
    peer: str = ""

    @property
    def asker(self) -> Asker:
        """Whose load the call is."""
        return Asker(self.principal or self.peer.rpartition(":")[0], self.peer)

    @property
    def trace_id(self) -> str | None:
        """The id of the caller's trace."""
        return None if self.trace is None else self.trace.trace_id


NOBODY: Final = Caller()


def parse_traceparent(text: object) -> Trace | None:
    """Return what a ``traceparent`` says (W3C Trace Context §3.2.2), None for one that is to be ignored."""
    found = _TRACEPARENT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    version, trace_id, parent_id, flags, rest = found.groups()
    if (
        not trace_id.strip("0")
        or not parent_id.strip("0")
        or (version == _KNOWN_VERSION and rest is not None)
    ):
        return None
    return Trace(trace_id, parent_id, flags)


class CallerReader:
    """Reads the callers of one server: it asks only for what the server's settings can have checked.

    With ``certificates`` clients showed one that gRPC verified, with ``tokens`` one that the gate compared. A
    certificate must have one of ``names``, where not every one of the CA will do (empty: every one).
    ``heard`` is told from which peer each call of one that may ask comes.
    """

    def __init__(
        self,
        *,
        certificates: bool,
        tokens: bool,
        names: Collection[str] = (),
        heard: Callable[[str], None] = lambda _peer: None,
    ) -> None:
        self._certificates = certificates
        self._tokens = tokens
        self._permitted = frozenset(f"cert:{name}" for name in names)
        self._heard = heard

    def read(self, context: grpc.ServicerContext) -> Caller:
        """Return the caller of ``context``."""
        trace = principal = None
        for key, value in context.invocation_metadata() or ():
            if key == TRACEPARENT:
                trace = parse_traceparent(value)
            elif self._tokens and key == "authorization" and isinstance(value, str):
                principal = token_principal(value.removeprefix("Bearer "))
        if self._tokens and isinstance(context, ProvenContext):
            principal = token_principal(context.token)
        if self._certificates:
            principal = certificate_principal(context.auth_context()) or principal
        peer = str(context.peer())
        if self.permits(context):
            self._heard(peer)
        return Caller(trace, principal, peer)

    def permits(self, context: grpc.ServicerContext) -> bool:
        """Whether the caller of ``context`` may ask; of one on a Unix socket its mode has said so.

        A certificate without a name is none that may.
        """
        if not self._permitted:
            return True
        shown = context.auth_context()
        is_tls = b"ssl" in shown.get("transport_security_type", b"")
        return not is_tls or certificate_principal(shown) in self._permitted


def certificate_principal(auth_context: Any) -> str | None:
    """Return ``cert:NAME`` for gRPC's ``auth_context``: the first alternative name, else the common name.

    A name that the audit log does not take is replaced by a digest of it. None: there was no certificate.
    """
    names = auth_context.get("x509_subject_alternative_name") or auth_context.get("x509_common_name")
    if not names:
        return None
    name = names[0].decode("utf-8", "replace")
    return f"cert:{name}" if CERTIFICATE_NAME.fullmatch(name) else f"cert:sha256:{_id(names[0])}"


@lru_cache(maxsize=64)
def token_principal(token: str) -> str:
    """Return ``token:ID``, which tells tokens apart and does not tell them: 64 bits of a digest."""
    return f"token:{_id(b'evalward token id' + bytes(1) + token.encode())}"


def _id(data: bytes) -> str:
    return sha256(data).hexdigest()[:_ID_DIGITS]
