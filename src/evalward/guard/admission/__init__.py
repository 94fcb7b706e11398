"""The checks before a payload is parsed: size, encoding, blocklist, invisible characters (guard.md §1)."""
