"""The abstract machine: runs instructions to a fixpoint and reports uses (guard.md §2)."""
