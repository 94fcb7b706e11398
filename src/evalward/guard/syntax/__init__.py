"""From bytes to programs: parse, wrappers, shapes, ambiguity, literals, spans (guard.md §1, §4)."""
