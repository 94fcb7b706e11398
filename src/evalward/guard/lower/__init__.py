"""Lowering: from a syntax tree to register instructions with resolved names (guard.md §2).

Input: the nodes of a parsed program. Output: ``Lowered``, one unit of instructions per function. Each module lowers one
kind of syntax; ``lower`` is the entry.
"""
