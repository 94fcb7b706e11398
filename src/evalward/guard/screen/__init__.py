"""The fast path for ordinary code: decides whether there is anything to resolve (guard.md §6)."""
