"""Checks of the payload's bytes (guard.md §1): size, encoding, occurrences of blocklisted words, invisible characters.

``admit`` returns why a payload is rejected, or None; ``occurrences`` returns every blocklisted word, and ``confirmed``
those that the tree confirms as code. No module here parses JavaScript.
"""
