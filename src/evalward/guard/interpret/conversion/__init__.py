"""Type conversions and operators: primitives, keys, strings, numbers (ECMA-262 §7.1, §13).

Input: abstract values. Output: constants where all operands are known, unknowns otherwise. A conversion calls the
payload's own ``toString`` and ``valueOf`` through the machine.
"""
