"""The worker process, ``python -P -m evalward.workers FRONT ASIDE PARENT``: ``process`` starts it, and nobody else."""

from __future__ import annotations

import sys

from evalward.workers.worker import run

if __name__ == "__main__":
    sys.exit(run(*map(int, sys.argv[1:])))
