"""Look-alike field names: names that one JSON library distinguishes and another treats as equal.

Go's ``encoding/json`` ignores case, web frameworks map ``page_function`` to ``pageFunction``, and Unicode has letters
that only look alike. A key that differs from a declared name but folds to it is therefore rejected.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

# Unicode general categories of invisible characters and separators: marks, format characters,
# controls, connectors and dashes, spaces.
_IGNORED = frozenset({"Mn", "Me", "Cf", "Cc", "Cs", "Co", "Cn", "Pc", "Pd", "Zs", "Zl", "Zp"})


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return the folded form that all spellings of ``name`` share: NFKC, no case, no separators."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(character for character in text if unicodedata.category(character) not in _IGNORED)
