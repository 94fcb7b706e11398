"""Differential fuzzing: find text that V8 and the guard parse differently, so that code is hidden (guard.md §4, §5)."""
