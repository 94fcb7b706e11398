"""The worker process: ``python -P -m evalward.workers DESCRIPTOR``, started by ``evalward.workers.process`` alone."""

from __future__ import annotations

import sys

from evalward.workers.worker import run

if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1])))
