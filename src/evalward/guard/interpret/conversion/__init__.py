"""Conversions and operators: primitives, keys, strings, numbers, iteration (ECMA-262 §7.1, §7.4, §13)."""
