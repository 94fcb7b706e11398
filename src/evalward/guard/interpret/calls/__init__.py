"""Calls and constructions: payload functions, catalogued functions, unknown callees (ECMA-262 §7.3.13, §10.2).

Input: a callee, a receiver and arguments as abstract values. Output: the abstract result; side effects go to the object
store. Iteration and promises are here because they call methods of the payload.
"""
