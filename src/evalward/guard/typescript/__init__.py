"""TypeScript to JavaScript by erasure: types become spaces, so that every position stays the same (guard.md, TypeScript)."""
