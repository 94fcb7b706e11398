"""benchmarks/hook.py runs against the real service and prints every figure."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "hook.py"


def test_the_benchmark_prints_every_figure() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--json", "--rounds", "3"],
        capture_output=True,
        text=True,
        check=True,
    )

    found = json.loads(done.stdout)

    kinds = ("click", "allowed", "denied")
    assert found.keys() == {"bare_start_ms"} | {
        name for kind in kinds for name in (f"client_{kind}_ms", f"service_{kind}_ms", f"ratio_{kind}")
    }
    assert all(value > 0 for value in found.values())
