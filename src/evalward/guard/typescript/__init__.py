"""TypeScript to JavaScript: types become spaces, so that every position stays the same (guard.md, TypeScript)."""
