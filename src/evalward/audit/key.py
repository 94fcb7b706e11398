"""The key of an audit log: a private file, from which the keys of the chain and of the payload hash are derived."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from evalward.errors import Code, CodedError
from evalward.private_file import NotPrivateError, read_private

if TYPE_CHECKING:
    import os

MIN_KEY_BYTES: Final = 32
MAX_KEY_BYTES: Final = 4096


class AuditKey:
    """One secret and the three keys derived from it; ``id`` (16 hex digits) identifies it without revealing it."""

    __slots__ = ("_chain", "_payload", "id")

    def __init__(self, secret: bytes) -> None:
        """Derive the keys from ``secret``; raise ValueError when it is shorter than 32 bytes."""
        if len(secret) < MIN_KEY_BYTES:
            raise ValueError(f"an audit key has at least {MIN_KEY_BYTES} bytes")
        self.id = _derived(secret, b"evalward audit key id").hex()[:16]
        self._chain = _derived(secret, b"evalward audit chain")
        self._payload = _derived(secret, b"evalward audit payload hash")

    def mac(self, data: bytes) -> str:
        """Return the chain's HMAC-SHA-256 of ``data`` in hexadecimal."""
        return hmac.digest(self._chain, data, "sha256").hex()

    def payload_hash(self, digest: bytes) -> str:
        """Return the keyed hash of a payload whose SHA-256 is ``digest``, in hexadecimal."""
        return hmac.digest(self._payload, digest, "sha256").hex()


def mac_of(key: AuditKey | None, data: bytes) -> str:
    """Return the digest of ``data`` in a chain: HMAC-SHA-256 with ``key``, or plain SHA-256 without one."""
    return sha256(data).hexdigest() if key is None else key.mac(data)


def load_key(path: str | os.PathLike[str]) -> AuditKey:
    """Return the key in the file at ``path``: its bytes as they are, such as 32 from ``/dev/urandom``.

    Raise CodedError (AUDIT_UNAVAILABLE) for a file that cannot be read, that is a symbolic link, that other users
    can read or write, or that is too short.
    """
    try:
        secret = read_private(path, most=MAX_KEY_BYTES, follow_links=False)
    except OSError as error:
        raise _unusable((error.strerror or type(error).__name__).lower()) from None
    except NotPrivateError as error:
        raise _unusable(str(error)) from None
    try:
        return AuditKey(secret)
    except ValueError as error:
        raise _unusable(str(error)) from None


def _derived(secret: bytes, label: bytes) -> bytes:
    return hmac.digest(secret, label, "sha256")


def _unusable(reason: str) -> CodedError:
    return CodedError(Code.AUDIT_UNAVAILABLE, f"The audit key cannot be used: {reason}.")
