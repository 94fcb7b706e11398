"""From syntax tree to instructions: one idea per module (guard.md §2)."""
