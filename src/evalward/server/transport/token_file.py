"""The bearer tokens of a file: one per line, so that a new token can be distributed before the old one is removed.

Files with a likely mistake are rejected: readable by others, a guessable token, no token. While serving, a rejected
file is logged and the previous tokens stay (service.md, "Sockets, identity, limits").
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from evalward.audit import AuditRecord, Kind
from evalward.errors import Code, CodedError
from evalward.private_file import NotPrivateError, read_private
from evalward.server.file_reload import raise_if_transient, recorded
from evalward.server.transport.token_gate import TOKEN, Tokens

if TYPE_CHECKING:
    from pathlib import Path

    from evalward.audit import AuditSink
    from evalward.challenge import SignedCall

LOG = logging.getLogger("evalward.server")

MAX_TOKENS: Final = 16
_MAX_BYTES: Final = 16 * 1024


def load_tokens(path: Path) -> Tokens:
    """Return the tokens of the file at ``path``; raise CodedError (CONFIG_INVALID), which never quotes one.

    A token is 16 to 512 printable ASCII characters without a space. Empty lines are ignored.
    """
    try:
        data = read_private(path, most=_MAX_BYTES + 1)
    except OSError as failure:
        raise _refused(path, failure.strerror or type(failure).__name__) from None
    except NotPrivateError as refusal:
        raise _refused(path, str(refusal)) from None
    lines = [(number, line.strip(b"\r")) for number, line in enumerate(data.split(b"\n"), 1)]
    tokens = [(number, line) for number, line in lines if line]
    if len(data) > _MAX_BYTES or len(tokens) > MAX_TOKENS:
        raise _refused(path, f"it has more than {MAX_TOKENS} tokens or {_MAX_BYTES} bytes")
    if not tokens:
        raise _refused(path, "it has no token")
    for number, token in tokens:
        if TOKEN.fullmatch(token) is None:
            raise _refused(path, f"line {number} is not 16 to 512 printable ASCII characters without a space")
    return Tokens(token.decode() for _, token in tokens)


class TokenFile:
    """The tokens of the last valid version of a file; raise CodedError when it is invalid at the start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tokens = load_tokens(path)
        self._lock = threading.Lock()

    def accepts(self, sent: bytes) -> bool:
        """Whether the header ``sent`` carries one of the tokens, in constant time."""
        return self._tokens.accepts(sent)

    def signer(self, call: SignedCall) -> str | None:
        """Return the token that signed ``call``, None if none did."""
        return self._tokens.signer(call)

    def reload(self, audit_log: AuditSink) -> bool:
        """Reload the file; return False to retry later, when ``audit_log`` does not accept the record.

        Raises TransientFileError when the file cannot be read temporarily.
        """
        with self._lock:
            try:
                tokens = load_tokens(self.path)
            except CodedError as refusal:
                raise_if_transient(refusal)
                LOG.error("the previous tokens stay in force: %s", refusal.message)  # noqa: TRY400 - the cause is in the text
                return recorded(audit_log, AuditRecord(kind=Kind.TOKEN_REJECT, code=Code(refusal.code)))
            if tokens == self._tokens:
                return True
            if not recorded(audit_log, AuditRecord(kind=Kind.TOKEN_LOAD, count=len(tokens))):
                return False
            self._tokens = tokens
            LOG.info("%d tokens of %s are in force", len(tokens), self.path)
            return True


def _refused(path: Path, why: str) -> CodedError:
    return CodedError(Code.CONFIG_INVALID, f"The token file {path} cannot be used: {why}.")
