"""What a payload must be before it is parsed: size, encoding, blocklist, invisible characters (guard.md §1)."""
