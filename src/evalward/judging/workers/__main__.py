"""The worker process: ``python -P -m evalward.judging.workers LAST EARLY PARENT``."""

from __future__ import annotations

import sys

from evalward.judging.workers.worker_loop import run

if __name__ == "__main__":
    sys.exit(run(*map(int, sys.argv[1:])))
