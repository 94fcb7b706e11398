from pathlib import Path

from soak import ANSWERS, LETTERS, MARKER_LENGTH, run, suspects


def test_no_trace_of_a_payload_gets_out(tmp_path: Path) -> None:
    figures = run(tmp_path, requests=800, seed=6)

    assert figures.leaks == []
    # A busy machine rejects some calls as overloaded; its other answers must still include every kind.
    assert {"allowed", "error", "DEADLINE_EXCEEDED"} <= {*figures.answers} <= ANSWERS
    assert figures.scanned_mb["audit log"] > 0.3
    assert min(figures.scanned_mb[name] for name in ("metrics", "traces", "logs")) > 0


def test_a_trace_would_be_found() -> None:
    marker = LETTERS * 4
    assert len(marker) >= MARKER_LENGTH

    assert set(suspects(f'{{"session": "x{marker[3:11]}"}}')) == {marker[3:11]}
    assert not list(suspects(marker[:7]))
