"""benchmarks/service.py runs against the real service and prints its documented output."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FIGURES = {"p50_us", "p99_us", "requests_per_s", "cpu_us", "requests_per_core_s"}
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "service.py"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "client",
    [
        "python",
        pytest.param(
            "h2load", marks=pytest.mark.skipif(not shutil.which("h2load"), reason="h2load is not installed")
        ),
    ],
)
def test_the_benchmark_prints_every_figure(client: str) -> None:
    command = [sys.executable, str(BENCHMARK), "--json", "--rounds", "1", "--requests", "40"]
    done = subprocess.run([*command, "--client", client], capture_output=True, text=True, check=True)

    result = json.loads(done.stdout)

    assert result["client"] == client
    assert 900 <= result["payload_bytes"] <= 1100
    assert [row["clients"] for row in result["rows"]] == [1, 8, 16]
    for row in result["rows"]:
        for what in ("echo", "service", "service / echo"):
            assert row[what].keys() == FIGURES
        assert row["service"]["p50_us"] > 0 < row["echo"]["p50_us"]
