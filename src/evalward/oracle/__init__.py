"""The oracles: run a payload behind traps and say what it really reached (sandbox.md, guard.md §5).

No hit is no proof of safety; a hit is proof of an escape.
"""

from evalward.oracle.hits import Engine, EngineRun, Hit, OracleReport
from evalward.oracle.reach import Oracles, reached

__all__ = ["Engine", "EngineRun", "Hit", "OracleReport", "Oracles", "reached"]
