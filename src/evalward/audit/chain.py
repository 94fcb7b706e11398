"""The chain of an audit log: each line ends with a digest of its own bytes, which hold the digest before.

A line is one JSON object without spaces. ``mac`` is its last member and covers all bytes before it; ``prev`` is
the one before and repeats the ``mac`` of the record before, 64 zeros in the first. ``seq`` counts the records of
a chain from 1, across processes and files.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalward.audit.key import mac_of
from evalward.audit.record import SCHEMA_VERSION, AuditRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.audit.key import AuditKey

GENESIS: Final = "0" * 64
_MAC = re.compile(rb',"mac":"([0-9a-f]{64})"}')
_MAC_BYTES: Final = len(',"mac":""}') + 64
_PREFIXES: Final = tuple(f',"{name}":' for name in AuditRecord.__slots__)
_fields_of = attrgetter(*AuditRecord.__slots__)


class Head(NamedTuple):
    """The last record of a chain. A copy that is kept elsewhere reveals a log that was cut short."""

    chain: str
    seq: int
    mac: str

    def __str__(self) -> str:
        return f"{self.chain}:{self.seq}:{self.mac}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Return the head that ``text`` writes as CHAIN:SEQ:MAC; raise ValueError for anything else."""
        found = re.fullmatch(r"([0-9a-f]{32}):([0-9]{1,18}):([0-9a-f]{64})", text)
        if found is None:
            raise ValueError("a head has the form CHAIN:SEQ:MAC, as `evalward audit head` prints it")
        return cls(found[1], int(found[2]), found[3])


def members(record: AuditRecord) -> str:
    """Return the record's own members as JSON text: ``"kind":"decision",...``, without braces.

    Every text of a record matches a pattern that no quote, backslash or control character fits, so none needs
    an escape.
    """
    parts = []
    for prefix, value in zip(_PREFIXES, _fields_of(record)):  # noqa: B905 - equal by construction
        if value is None or value == ():
            continue
        if isinstance(value, str):
            parts.append(prefix + '"' + value + '"')
        elif isinstance(value, int):
            parts.append(prefix + str(value))
        else:
            parts.append(prefix + '["' + '","'.join(value) + '"]')
    return "".join(parts)[1:]


def link(
    head: Head, text: str, *, boot_id: str, key: AuditKey | None, nanoseconds: int
) -> tuple[bytes, Head]:
    """Return the line that follows ``head`` for a record whose ``members`` are ``text``, and its own head.

    The line has its newline. ``nanoseconds`` since the epoch become ``ts`` in UTC (RFC 3339, microseconds).
    """
    chain, seq, prev = head
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    covered = (
        f'{{"v":{SCHEMA_VERSION},"seq":{seq + 1},"ts":"{_date_and_time(seconds)}.{rest // 1_000:06d}Z",'
        f'"chain":"{chain}","boot_id":"{boot_id}",{text},"prev":"{prev}"'
    ).encode("ascii")
    mac = mac_of(key, covered)
    return b'%b,"mac":"%b"}\n' % (covered, mac.encode()), Head(chain, seq + 1, mac)


class Line(NamedTuple):
    """One line read back: its members, what its ``mac`` covers, and its place in the chain."""

    record: dict[str, Any]
    covered: bytes
    head: Head
    prev: str

    def is_signed(self, keys: Iterable[AuditKey | None]) -> bool:
        """Whether the ``mac`` is that of the bytes under one of ``keys`` (None: plain SHA-256)."""
        return any(mac_of(key, self.covered) == self.head.mac for key in keys)


def read_line(data: bytes) -> Line | None:
    """Return the line in ``data``, newline excluded, or None when it is not a record of this schema."""
    mac = _MAC.fullmatch(data, max(0, len(data) - _MAC_BYTES))
    if mac is None:
        return None
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("v") != SCHEMA_VERSION:
        return None
    chain, seq, prev = (record.get(name) for name in ("chain", "seq", "prev"))
    if not (isinstance(chain, str) and type(seq) is int and isinstance(prev, str)):
        return None
    return Line(record, data[:-_MAC_BYTES], Head(chain, seq, mac[1].decode()), prev)


@lru_cache(maxsize=2)
def _date_and_time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
