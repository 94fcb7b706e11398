"""How a record identifies a payload without its text: SHA-256 (an HMAC if there is a key), and optionally FNV-1a."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from evalward.audit.key import AuditKey

SHA256: Final = "sha256"
FNV_MOST_BYTES: Final = 128 * 1024
"""FNV-1a takes about 60 ns a byte in Python; the limit keeps long payloads from using up processor time."""
_FNV_OFFSET: Final = 0x811C9DC5
_FNV_PRIME: Final = 0x01000193


class Fingerprint(NamedTuple):
    """The digests of one payload as a record carries them, each in lowercase hexadecimal."""

    hash_alg: str
    code_hash: str
    fnv1a32: str | None = None


def fingerprint(sha256: str, payload: bytes, *, key: AuditKey | None, fnv1a32: bool = False) -> Fingerprint:
    """Return the fingerprint of ``payload``, whose SHA-256 is ``sha256`` in hexadecimal.

    Under a key it is the HMAC-SHA-256 of that digest: short payloads can be guessed from a plain digest (service.md,
    Audit log). A payload above 128 KiB gets no FNV-1a.
    """
    short = fnv1a(payload) if fnv1a32 and len(payload) <= FNV_MOST_BYTES else None
    if key is None:
        return Fingerprint(SHA256, sha256, short)
    return Fingerprint(f"hmac-sha256:{key.id}", key.payload_hash(bytes.fromhex(sha256)), short)


def fnv1a(data: bytes) -> str:
    """Return the 32-bit FNV-1a hash of ``data`` as 8 hex digits. It is for correlation and proves nothing."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return f"{value:08x}"
