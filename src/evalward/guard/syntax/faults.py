"""What a syntax error is, told by its token: the kinds that a caller can repair without a guess."""

from __future__ import annotations

import re
from typing import Final

SYNTAX_KINDS: Final = {
    "type_annotation": "Type annotations are TypeScript, not JavaScript.",
    "return_outside_function": "A return statement is not an expression.",
    "statement_where_expression": "A statement stands where an expression is expected.",
}
"""Each kind and its sentence in the message."""

_STATEMENTS: Final = frozenset(
    {b"const", b"let", b"var", b"if", b"for", b"while", b"switch", b"try", b"throw"}
)
_TYPE: Final = re.compile(
    rb":\s*(?:number|string|boolean|any|unknown|void|never|object|[A-Z]\w*|[\w.]+(?:<[\w\s,.<>]+>|\[\]))(?=[\s,)=;|\[<]|\Z)"
)
_ASSERTED: Final = re.compile(rb"as\s+(?:any|unknown|const|number|string|boolean|[A-Z]\w*)\b")
_DECLARED: Final = re.compile(rb"\b(?:interface|type|enum)\s+\Z")


def syntax_kind(payload: bytes, start: int, end: int) -> str | None:
    """Return the kind of the error at the token from ``start`` to ``end``, None if the token does not tell."""
    token = payload[start:end]
    ahead = payload[start : start + 128]
    if _TYPE.match(ahead) or _ASSERTED.match(ahead) or _DECLARED.search(payload[max(0, start - 16) : start]):
        return "type_annotation"
    if token == b"return":
        return "return_outside_function"
    return "statement_where_expression" if token in _STATEMENTS else None
