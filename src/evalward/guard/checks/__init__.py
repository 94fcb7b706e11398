"""Rules that need the syntax tree alone: loops, regular expressions, the seed profile (guard.md §3)."""
