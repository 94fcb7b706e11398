"""The descriptor limit: raise it for connections, and reserve descriptors for everything else.

gRPC accepts connections until no descriptor is left; then the admin listener, the next audit file and a worker's
sockets fail. The soft limit is therefore raised to the number that the connections need, at most to the hard limit,
and gRPC gets all descriptors above a reserve.
"""

from __future__ import annotations

import logging
import resource
from typing import Final, NamedTuple

LOG: Final = logging.getLogger("evalward.server")

RESERVE: Final = 256
"""For the admin listener, the audit log, guard workers, reloaded files, exporters."""
_PER_WORKER: Final = 4
SLACK: Final = 1.25
"""gRPC rejects connections above this multiple of the limit; ``connections`` chooses which surplus ones to close."""


class ConnectionLimits(NamedTuple):
    """``connections`` may stay open in total; each listener accepts ``per_listener``."""

    connections: int
    per_listener: int


def connection_limits(connections: int, *, listeners: int, workers: int) -> ConnectionLimits:
    """Raise the soft limit for ``connections`` and return what fits."""
    soft, hard = (
        limit if limit != resource.RLIM_INFINITY else 2**31
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    reserve = RESERVE + _PER_WORKER * workers
    wanted = min(hard, reserve + int(SLACK * connections) * listeners)
    if wanted > soft:
        try:
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            )
        except (OSError, ValueError) as refusal:
            LOG.warning("the descriptor limit stays at %d: %s", soft, type(refusal).__name__)
        else:
            LOG.info("descriptor limit raised from %d to %d, of at most %d", soft, wanted, hard)
            soft = wanted
    free = max(soft - reserve, soft // 2)
    per_listener = max(1, min(int(SLACK * connections), free // listeners))
    fits = min(connections, max(1, int(per_listener / SLACK)))
    if fits < connections:
        LOG.warning(
            "at most %d connections instead of %d: the descriptor limit is %d", fits, connections, soft
        )
    return ConnectionLimits(fits, per_listener)
