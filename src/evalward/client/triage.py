"""Stores denied payloads in a folder of the client, for later review (service.md, Policy).

The service stores none. Storing is off by default, and a failure to store changes no verdict.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalward.file_calls import BINARY, CLOSE_ON_EXEC, NO_FOLLOW

if TYPE_CHECKING:
    from evalward.client.guard_reply import Decision

LOG = logging.getLogger("evalward.client")

MOST_PAYLOADS: Final = 1_000


class Triage:
    """Keeps each denied payload once in ``folder``, as ``<sha256>.js``, with its envelope as ``<sha256>.json``.

    The folder is made with mode 0700 and its files with 0600. At most ``most`` payloads are kept, so that
    agents cannot fill the disk. Raises ValueError for a folder that others may enter, and OSError for
    one that cannot be made.
    """

    def __init__(self, folder: str | os.PathLike[str], *, most: int = MOST_PAYLOADS) -> None:
        self.folder = Path(folder)
        self._most = most
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
            raise ValueError(f"{self.folder} holds payloads: its mode must be 0700")

    def keep(self, payload: bytes, decision: Decision) -> bool:
        """Store ``payload``, which ``decision`` denies; false when it is not stored or is already there."""
        if decision.allowed or not decision.decision_id:
            return False
        name = sha256(payload).hexdigest()
        try:
            if len(list(self.folder.glob("*.js"))) >= self._most:
                return False
            _write(self.folder / f"{name}.js", payload)
            _write(self.folder / f"{name}.json", json.dumps(decision.envelope, indent=2).encode())
        except FileExistsError:
            return False
        except OSError as failure:
            LOG.warning("a denied payload was not stored: %s", failure.strerror)
            return False
        return True


def _write(file: Path, content: bytes) -> None:
    descriptor = os.open(
        file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | CLOSE_ON_EXEC | BINARY, 0o600
    )
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
