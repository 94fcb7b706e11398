"""Whatever a sink takes of each write, what was acknowledged is there and the chain is whole."""

import errno

from hypothesis import given
from hypothesis import strategies as st
from log_lines import ALLOW

from evalward.audit import AuditKey, AuditLog, AuditRecord, AuditUnavailable, Kind, Outcome
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

    def close(self) -> None:
        pass


@given(st.lists(st.one_of(st.none(), st.integers(0, 1_600)), max_size=12))
def test_no_run_of_short_writes_breaks_the_chain_or_loses_what_was_acknowledged(
    takes: list[int | None],
) -> None:
    sink = FickleSink(takes)
    acknowledged = []
    with AuditLog(sink, key=KEY) as log:
        for number in range(14):
            record = AuditRecord(kind=Kind.DECISION, outcome=Outcome.ALLOW, decision_id=f"d{number}")
            try:
                log.append(record)
            except AuditUnavailable:
                continue
            acknowledged.append(f"d{number}")
        log.append(ALLOW)
        head = log.head
    found = verify([("log", sink.data)], key=KEY, expect_head=head)
    written = [record["decision_id"] for record in records(sink.data) if record["kind"] == "decision"]
    assert found.fault is None, found.text
    assert written == [*acknowledged, "d1"]
