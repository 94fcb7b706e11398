"""The abstract domain: values, heap objects, instructions, uses; data without behaviour beyond joins (guard.md §2)."""
