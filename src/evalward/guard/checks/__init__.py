"""Rules that need the syntax tree alone: loops, regular expressions, the seed profile (guard.md §3).

Input: a parsed program and the rules. Output: findings. No rule here follows values; that is the interpreter's task.
"""
