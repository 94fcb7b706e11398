"""How many descriptors the process may have, and how many of them connections may take.

gRPC takes connections until none is left, and then neither the admin listener nor the audit log's next file nor a
guard worker's sockets can be had. So the soft limit is raised as far as the connections need it and the hard one lets
it, and gRPC gets what is left above a reserve.
"""

from __future__ import annotations

import logging
import resource
from typing import Final, NamedTuple

LOG: Final = logging.getLogger("evalward.server")

RESERVE: Final = 256
"""For the admin listener, the audit log, guard workers, files that are read anew, exporters."""
_PER_WORKER: Final = 4
SLACK: Final = 1.25
"""gRPC itself hangs up on whoever comes above this many times the number: what is above the number is chosen from."""


class ConnectionLimits(NamedTuple):
    """``connections`` may stay, and each listener takes ``per_listener``."""

    connections: int
    per_listener: int


def connection_limits(connections: int, *, listeners: int, workers: int) -> ConnectionLimits:
    """Raise the soft limit for so many connections and return what there is room for."""
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
            LOG.warning("the limit of descriptors stays at %d: %s", soft, type(refusal).__name__)
        else:
            LOG.info("limit of descriptors raised from %d to %d, of at most %d", soft, wanted, hard)
            soft = wanted
    free = max(soft - reserve, soft // 2)
    per_listener = max(1, min(int(SLACK * connections), free // listeners))
    fits = min(connections, max(1, int(per_listener / SLACK)))
    if fits < connections:
        LOG.warning("at most %d connections, not %d: the limit of descriptors is %d", fits, connections, soft)
    return ConnectionLimits(fits, per_listener)
