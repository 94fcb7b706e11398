"""The abstract domain: values, heap objects, instructions, uses (guard.md §2).

Lowering and the interpreter share these types, and no module here imports either. A value is a set of atoms and
only grows, by joins. The types have no behaviour beyond joins and their own bounds.
"""
