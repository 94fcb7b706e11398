"""Short writes of any size: every acknowledged record is in the log, and the chain verifies."""

import errno
from dataclasses import replace
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_lines import ALLOW

from evalward.audit import AuditKey, AuditLog, AuditUnavailable
from evalward.audit.files import LogFile
from evalward.audit.read import records
from evalward.audit.sink import Tail, failure_of
from evalward.audit.verify import verify

KEY = AuditKey(bytes(range(32)))


class FickleSink:
    """Takes as many bytes of each write as the test says, None for an error; all of them when it says no more."""

    path: str | None = None

    def __init__(self, takes: list[int | None]) -> None:
        self.data = b""
        self.size = 0
        self.born = 0.0
        self._takes = iter(takes)

    def tail(self) -> Tail:
        return Tail(b"", b"")

    def write(self, data: bytes) -> int:
        take = next(self._takes, len(data))
        if take is None:
            raise failure_of(OSError(errno.ENOSPC, "No space left on device"))
        taken = data[:take]
        self.data += taken
        self.size += len(taken)
        return len(taken)

    def sync(self) -> None:
        pass

    def is_in_place(self) -> bool:
        return True

    def changed(self) -> None:
        return None

    def close(self) -> None:
        pass


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 1_600)), max_size=12),
    st.lists(st.integers(1, 4), min_size=14, max_size=14),
)
def test_no_run_of_short_writes_breaks_the_chain_or_loses_what_was_acknowledged(
    takes: list[int | None], sizes: list[int]
) -> None:
    sink = FickleSink(takes)
    acknowledged, withheld = [], []
    with AuditLog(sink, key=KEY) as log:
        for call, size in enumerate(sizes):
            names = [f"d{call}.{number}" for number in range(size)]
            try:
                log.append(*[replace(ALLOW, decision_id=name) for name in names])
            except AuditUnavailable:
                withheld += names
            else:
                acknowledged += names
        log.append(ALLOW)
        head = log.head
    found = verify([LogFile("log", BytesIO(sink.data))], key=KEY, expect_heads=[head])
    assert found.fault is None, found.text
    written = [*records(sink.data.splitlines())]
    decided = [record["decision_id"] for record in written if record["kind"] == "decision"]
    gaps = [record for record in written if record["kind"] == "gap"]
    beyond = [name for name in decided if name in withheld]
    assert [name for name in decided if name not in withheld] == [*acknowledged, "d1"]
    assert sum(gap["unacknowledged"] for gap in gaps) == len(beyond)
    assert sum(gap["unrecorded"] for gap in gaps) == len(withheld) - len(beyond)


def test_a_line_that_lacks_only_its_newline_is_no_record() -> None:
    sink = FickleSink([])
    with AuditLog(sink, key=KEY) as log:
        log.append(ALLOW)
    cut = FickleSink([len(sink.data) - 1])
    with AuditLog(cut, key=KEY) as log:
        with pytest.raises(AuditUnavailable, match="cut short"):
            log.append(ALLOW)
        log.append(replace(ALLOW, decision_id="d2"))
    found = verify([LogFile("log", BytesIO(cut.data))], key=KEY)
    assert found.fault is None, found.text
    assert [record.get("decision_id") for record in records(cut.data.splitlines())] == [None, None, "d2"]
