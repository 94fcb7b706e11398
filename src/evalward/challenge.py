"""Signed calls: caller and service each prove knowledge of a shared token, and neither sends it.

A bearer token on a plain TCP port is disclosed to whatever process listens there. So a caller signs each call instead,
and the service signs its responses (HMAC-SHA256, RFC 2104, with the token as the key):

* The call carries ``evalward-auth: v1 TIME NONCE DIGEST MAC``. TIME is in milliseconds since 1970, NONCE 32 hex
  digits that are used once, DIGEST the SHA-256 of the request's bytes (``stream`` where there are several), and MAC is
  the HMAC of ``request``, the method, TIME, NONCE and DIGEST, one per line.
* A unary response carries ``evalward-proof: HMAC`` in its trailing metadata: of ``reply``, the call's MAC and the
  SHA-256 of the response's bytes. A status with details carries the same of ``status`` and the details' bytes.
* Each response of a stream ends with the field ``proof``: the HMAC of ``item``, the call's MAC and a running digest of
  every request and response so far, including this one without its proof.

Each kind of text has its own first line, and no line can contain a line break, so no text can be mistaken for another.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NamedTuple

AUTH: Final = "evalward-auth"
PROOF: Final = "evalward-proof"
STREAM: Final = "stream"
"""Replaces the digest of a request that is not a single message."""
_VERSION: Final = "v1"
_HEADER: Final = re.compile(r"v1 (\d{1,15}) ([0-9a-f]{32}) ([0-9a-f]{64}|stream) ([0-9a-f]{64})", re.ASCII)
# Field 30 of ValidateStreamResponse, 32 bytes: its tag, its length (proto3 encoding).
_ITEM_PROOF: Final = bytes([0xF2, 0x01, 0x20])
_ITEM_PROOF_BYTES: Final = len(_ITEM_PROOF) + sha256().digest_size


def digest_of(message: bytes) -> str:
    """Return the lower-case hex SHA-256 of ``message``."""
    return sha256(message).hexdigest()


class SignedCall(NamedTuple):
    """The parsed ``evalward-auth`` header; ``milliseconds`` since 1970."""

    method: str
    milliseconds: int
    nonce: str
    digest: str
    mac: str

    def is_signed_with(self, token: str) -> bool:
        """Whether the author of the MAC knows ``token``, in constant time."""
        return hmac.compare_digest(self.mac, _mac(token, *_signed(self)))


def read_header(method: str, header: str) -> SignedCall | None:
    """Return the parsed ``header`` of a call of ``method``, None for an invalid one."""
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    milliseconds, nonce, digest, mac = found.groups()
    return SignedCall(method, int(milliseconds), nonce, digest, mac)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One call, at the caller or at the service with the caller's token: creates and verifies proofs."""

    token: str
    mac: str

    def reply_proof(self, response: bytes) -> str:
        """Return the proof of a unary response."""
        return _mac(self.token, "reply", self.mac, digest_of(response))

    def status_proof(self, details: bytes) -> str:
        """Return the proof of a status whose ``grpc-status-details-bin`` is ``details``."""
        return _mac(self.token, "status", self.mac, digest_of(details))

    def item_proof(self, transcript: str) -> bytes:
        """Return the proof of a stream response; ``transcript`` is the running digest including it."""
        return bytes.fromhex(_mac(self.token, "item", self.mac, transcript))

    def proves_reply(self, proof: str, response: bytes) -> bool:
        """Whether ``proof`` is the proof of ``response``."""
        return _equal(proof, self.reply_proof(response))

    def proves_status(self, proof: str, details: bytes) -> bool:
        """Whether ``proof`` is the proof of ``details``."""
        return _equal(proof, self.status_proof(details))


def challenge(token: str, method: str, digest: str, *, milliseconds: int) -> tuple[str, Challenge]:
    """Return the header of a new call of ``method``, and the verifier of its responses."""
    unsigned = SignedCall(method, milliseconds, secrets.token_hex(16), digest, "")
    mac = _mac(token, *_signed(unsigned))
    return f"{_VERSION} {milliseconds} {unsigned.nonce} {digest} {mac}", Challenge(token, mac)


class Transcript:
    """The running digest of a stream. Both sides compute it: each message is added when it is received or sent."""

    def __init__(self, of: Challenge) -> None:
        self._challenge = of
        self._state = ""

    def request(self, message: bytes) -> None:
        """Add the next request."""
        self._take("request", message)

    def proven(self, message: bytes) -> bytes:
        """Add the next response and return it with its proof."""
        self._take("reply", message)
        return message + _ITEM_PROOF + self._challenge.item_proof(self._state)

    def checked(self, message: bytes) -> bytes | None:
        """Add the next response and return it without its proof; None when the proof is invalid."""
        inner, tag = message[:-_ITEM_PROOF_BYTES], message[-_ITEM_PROOF_BYTES:][: len(_ITEM_PROOF)]
        self._take("reply", inner)
        if tag != _ITEM_PROOF:
            return None
        proof = message[-sha256().digest_size :]
        return inner if hmac.compare_digest(proof, self._challenge.item_proof(self._state)) else None

    def _take(self, side: str, message: bytes) -> None:
        self._state = digest_of(f"{self._state}\n{side}\n{digest_of(message)}".encode())


def _signed(call: SignedCall) -> tuple[str, ...]:
    return "request", call.method, str(call.milliseconds), call.nonce, call.digest


def _mac(token: str, *lines: str) -> str:
    text = "\n".join(("evalward", _VERSION, *lines))
    return hmac.new(token.encode(), text.encode(), sha256).hexdigest()


def _equal(one: str, other: str) -> bool:
    # compare_digest accepts only ASCII text, and network input need not be ASCII.
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())
