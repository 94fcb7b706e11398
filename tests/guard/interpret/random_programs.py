"""Random programs that lead an analysis in circles: proxies of ``this``, getters that read themselves, long chains.

Each parses, or nearly so. None needs to run to its end: what matters is that each has a verdict.
"""

from __future__ import annotations

import random
import re
from typing import Final

from guard_cases import cases

_PARTS: Final[dict[str, list[str]]] = cases("interpret/random_programs")
_HOLE: Final = re.compile(rf"@({'|'.join(sorted(_PARTS, key=len, reverse=True))})")
_DEEPEST: Final = 9
_MOST: Final = 110
"""The number of holes that are filled before every expression is a leaf."""


def program(seed: int) -> str:
    """Return the program with this number; it is at most a few KB long."""
    rng = random.Random(seed)
    filled = 0

    def fill(text: str, depth: int) -> str:
        def part(hole: re.Match[str]) -> str:
            nonlocal filled
            filled += 1
            kind = hole[1]
            if kind in {"expression", "function"} and (depth <= 0 or filled > _MOST):
                kind = "leaf"
            elif kind in {"statement", "members", "class", "arguments"} and filled > _MOST:
                return ""
            return fill(rng.choice(_PARTS[kind]), depth - 1)

        return _HOLE.sub(part, text)

    first = "let a = {}, b = [], c = () => a, d = new Map(), e = class {}, f = new Proxy({}, {});"
    statements = (fill("@statement", 3 + rng.randrange(_DEEPEST)) for _ in range(2 + rng.randrange(6)))
    return "\n".join([first, *statements])
