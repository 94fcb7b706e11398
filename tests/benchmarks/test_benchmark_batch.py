"""benchmarks/batch.py runs against the real service and prints its documented output."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "batch.py"


@pytest.mark.exhaustive
def test_the_benchmark_prints_the_overheads_and_their_share() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--json", "--rounds", "1"],
        capture_output=True,
        text=True,
        check=True,
    )

    result = json.loads(done.stdout)

    assert result.keys() == {"wall", "cpu"}
    for figures in result.values():
        assert figures.keys() == {"validate_us", "single_overhead_us", "batch_overhead_us", "share"}
        assert figures["validate_us"] > 0
