"""What a supervisor sends to a front: one JSON line on its standard input, which then stays open.

A pipe closes when its process ends in any way, so a front ends with its supervisor; and a token in a pipe appears in no
command line, environment or file.
"""

from __future__ import annotations

import glob
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import BinaryIO

MARK: Final = "EVALWARD_FRONT"
"""The variable that is set in the environment of a front, and only there."""
_SUFFIX: Final = ".front-"
_LINE_BYTES: Final = 64 * 1024


class NoRoleError(ValueError):
    """The supervisor has sent no role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRole:
    """The part of one front, which is numbered from 1.

    It replaces settings of the command line: ``listen`` has the ports in use, ``audit_log`` is the front's own file,
    ``admin`` the Unix socket for its supervisor. Hooks cannot share an address, so that one front serves them.
    ``token`` is that of ``--parent``.
    """

    number: int
    listen: tuple[str, ...]
    audit_log: Path
    admin: Path
    serves_hooks: bool
    token: str | None = None

    def line(self) -> bytes:
        """Return the role as one line."""
        fields = {
            "number": self.number,
            "listen": self.listen,
            "audit_log": str(self.audit_log),
            "admin": str(self.admin),
            "serves_hooks": self.serves_hooks,
            "token": self.token,
        }
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def read(cls, stdin: BinaryIO) -> FrontRole:
        """Read the role from the first line of ``stdin``; raise NoRoleError."""
        try:
            fields = json.loads(stdin.readline(_LINE_BYTES))
            return cls(
                number=fields["number"],
                listen=tuple(fields["listen"]),
                audit_log=Path(fields["audit_log"]),
                admin=Path(fields["admin"]),
                serves_hooks=fields["serves_hooks"],
                token=fields["token"],
            )
        except (ValueError, KeyError, TypeError):
            raise NoRoleError(
                f"{MARK} is set, but standard input has no role: only --fronts sets it"
            ) from None


def is_front() -> bool:
    """Whether this process is a front of a supervisor; its own children are not."""
    return os.environ.pop(MARK, None) is not None


def log_of(audit_log: Path, number: int) -> Path:
    """Return the audit log of a front: ``audit_log`` itself for the first, ``audit_log.front-N`` for the others."""
    return audit_log if number == 1 else audit_log.with_name(f"{audit_log.name}{_SUFFIX}{number}")


def logs_of(audit_log: Path) -> list[Path]:
    """Return the audit logs of all fronts that were ever started with ``audit_log``, that of the first one first."""
    others = [
        path
        for path in audit_log.parent.glob(f"{glob.escape(audit_log.name)}{_SUFFIX}*")
        if path.name.removeprefix(audit_log.name + _SUFFIX).isdecimal()
    ]
    return [audit_log, *sorted(others)]
