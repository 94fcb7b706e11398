"""The spellings of a key, for the placeholders of gadgets (``axes/gadgets.toml``)."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ALPHABET = "qwertyuiopasdfghjklzxcvbnm_QWERTYUIOPASDFGHJKLZXCVBNM"
_XOR = 21
_WIDE = 0xFEE0
_BASE_36_LETTERS = 6

# Letters from JavaScript's own coercions (the idea of JSFuck); other letters are written literally.
_COERCIONS = {
    text[index]: f'({source} + "")[{index}]'
    for source, text in (("{}", "[object Object]"), ("[][0]", "undefined"), ("!0", "true"), ("!1", "false"))
    for index in range(len(text))
}


@cache
def spellings(text: str) -> Mapping[str, str]:
    """Return the content of every placeholder for ``text``, which consists of ASCII letters and underscores."""
    middle = len(text) // 2
    codes = [ord(c) for c in text]
    escaped = "".join(f"\\u{code:04x}" for code in codes)
    encoded = text.encode()
    pieces = [text[i : i + _BASE_36_LETTERS] for i in range(0, len(text), _BASE_36_LETTERS)]
    return {
        "s": text,
        "q": json.dumps(text),
        "A": text[:middle],
        "B": text[middle:],
        "a": json.dumps(text[:middle]),
        "b": json.dumps(text[middle:]),
        "rev": text[::-1],
        "len": str(len(text)),
        "chars": _listed(map(json.dumps, text)),
        "codes": _listed(codes),
        "xors": _listed(code ^ _XOR for code in codes),
        "hex": "".join(f"\\x{code:02x}" for code in codes),
        "uni": escaped,
        "uniraw": escaped.replace("\\", "\\\\"),
        "brace": "".join(f"\\u{{{code:x}}}" for code in codes),
        "octal": "".join(f"\\{code:03o}" for code in codes),
        "b64": base64.b64encode(encoded).decode(),
        "hexdigits": encoded.hex(),
        "percent": "".join(f"%{code:02X}" for code in codes),
        "rot": "".join(chr(code + 1) for code in codes),
        "swap": text.swapcase(),
        "upper": text.upper(),
        "alphabet": _ALPHABET,
        "indices": _listed(_ALPHABET.index(c) for c in text),
        "base36": _listed(int(piece, 36) if piece.isalnum() else 0 for piece in pieces),
        "coerced": " + ".join(_COERCIONS.get(c, json.dumps(c)) for c in text),
        "wide": "".join(chr(code + _WIDE) for code in codes),
    }


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
