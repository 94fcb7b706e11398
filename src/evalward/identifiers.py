"""The patterns of identifiers that policies, manifests and audit records share."""

from __future__ import annotations

from typing import Final

CALLER_ID: Final = r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}"
"""What a caller supplies: the name of a tool, a session, a request, a principal."""
KEYWORD_ID: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
"""The name of a keyword of the blocklist."""
SHA256_HEX: Final = r"[0-9a-f]{64}"
"""A SHA-256 in lower-case hex."""
