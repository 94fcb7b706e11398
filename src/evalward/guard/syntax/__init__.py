"""From bytes to programs: wrappers, shapes, parsing, ambiguity, literals (guard.md §1, §4).

Input: the payload's bytes and the shapes that its sink may use. Output: ``ParsedProgram`` objects with a survey of the
tree, or a rejection of text that engines may read otherwise. Trees are walked without recursion.
"""
