"""benchmarks/containment.py runs every hostile payload and prints its documented output."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "containment.py"


@pytest.mark.exhaustive
def test_the_benchmark_prints_every_figure() -> None:
    command = [sys.executable, str(BENCHMARK), "--json", "--passes", "1", "--deadlines", "50", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    result = json.loads(done.stdout)

    # Lateness also depends on the machine's load; memory and answers do not.
    assert [row["deadline_ms"] for row in result["deadlines"]] == [50, 100]
    for row in result["deadlines"]:
        assert row["runs"] >= 50
        assert row["benign_calls"] > 0
        assert row["benign_wrong"] == 0
        assert row["too_large"] == []
