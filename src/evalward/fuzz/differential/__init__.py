"""Look for text that V8 reads otherwise than the guard's grammar does, so that code hides (guard.md §4, §5)."""
