"""The oracles: run a payload among traps and report the capabilities that it reached (sandbox.md, guard.md §5).

No hit does not prove safety; a hit proves an escape.
"""

from evalward.oracle.hits import Engine, EngineRun, Hit, OracleReport
from evalward.oracle.reach import Oracles, reached

__all__ = ["Engine", "EngineRun", "Hit", "OracleReport", "Oracles", "reached"]
