"""Names of fields as an attacker spells them: what one JSON library tells apart, another takes for the same.

Go's ``encoding/json`` ignores case, web frameworks map ``page_function`` to ``pageFunction``, and Unicode has
letters that only look alike. A key that is not a name but folds to it is therefore never let through.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Unicode general categories of what a reader does not see or takes for a separator: marks, format characters,
# controls, connectors and dashes, spaces.
_IGNORED = frozenset({"Mn", "Me", "Cf", "Cc", "Cs", "Co", "Cn", "Pc", "Pd", "Zs", "Zl", "Zp"})


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return what ``name`` has in common with every other spelling: NFKC, no case, no separators."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(character for character in text if unicodedata.category(character) not in _IGNORED)
