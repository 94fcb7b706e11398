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

from evalward.errors import Code, CodedError
from evalward.identifiers import CALLER_ID
from evalward.server.requests.caller import TRACEPARENT, Caller, parse_traceparent
from evalward.server.transport.signed_calls import ProvenContext

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import grpc

CERTIFICATE_NAME = re.compile(CALLER_ID)
_ID_DIGITS: Final = 16


class CallerIdentityReader:
    """Reads the callers of one server; a credential counts only if the server's settings verify it.

    With ``certificates`` gRPC has verified a client certificate, with ``tokens`` the gate has compared a token. With
    ``names`` a certificate must have one of them (empty: any certificate of the CA). ``heard`` is called with the peer
    of each permitted call.
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
        """Whether the caller of ``context`` has permission; a Unix socket's file mode decides for its callers.

        A certificate without a name has no permission.
        """
        if not self._permitted:
            return True
        shown = context.auth_context()
        is_tls = b"ssl" in shown.get("transport_security_type", b"")
        return not is_tls or certificate_principal(shown) in self._permitted


def certificate_principal(auth_context: Any) -> str | None:
    """Return ``cert:NAME`` for gRPC's ``auth_context``: the first subject alternative name, else the common name.

    A name that the audit log does not accept is replaced by its digest. None: no certificate.
    """
    names = auth_context.get("x509_subject_alternative_name") or auth_context.get("x509_common_name")
    if not names:
        return None
    name = names[0].decode("utf-8", "replace")
    return f"cert:{name}" if CERTIFICATE_NAME.fullmatch(name) else f"cert:sha256:{_id(names[0])}"


@lru_cache(maxsize=64)
def token_principal(token: str) -> str:
    """Return ``token:ID``: 64 bits of a digest, which identify a token without disclosing it."""
    return f"token:{_id(b'evalward token id' + bytes(1) + token.encode())}"


def _id(data: bytes) -> str:
    return sha256(data).hexdigest()[:_ID_DIGITS]


def not_permitted() -> CodedError:
    """Return the refusal of a caller whose certificate names no one that may ask."""
    return CodedError(
        Code.PERMISSION_DENIED,
        "The client's certificate is valid, but its name is not permitted.",
    )
