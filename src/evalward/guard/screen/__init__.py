"""Whether there is anything to resolve: the fast path for ordinary code (guard.md §6)."""
