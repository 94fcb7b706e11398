"""Checks before a payload is parsed: size, encoding, invisible characters, blocklist (guard.md §1).

Input: the payload's bytes and the rules. Output: the first violation, or the decoded payload. No module here parses
JavaScript.
"""
