"""The identity of a caller: principal and trace context, read from gRPC metadata and the client certificate.

gRPC's Python server does not expose the user id of a Unix socket peer: ``peer()`` is ``unix:`` for all of them, even
with local credentials, and nothing relates a call to a file descriptor of the process. A Unix socket caller
therefore has a principal only if it sends a token; there is no principal of the form ``uid:``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from evalward.server.requests.caller import TRACEPARENT, Caller, parse_traceparent
from evalward.server.transport.signed_calls import ProvenContext

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import grpc

CERTIFICATE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}")
_ID_DIGITS: Final = 16


class CallerIdentityReader:
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
