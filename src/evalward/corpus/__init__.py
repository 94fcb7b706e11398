"""Escapes and benign payloads as data: the case model, its loader and the runner (guard.md §5)."""
