"""The abstract interpreter: runs lowered instructions to a fixpoint and reports uses (guard.md §2).

Input: the lowered program with its surroundings (catalogue, bindings, rules) and the table of transfer functions.
Output: ``Findings``, the uses that policy decides about. ``composition`` makes the parts of a run once; they
call later parts through the protocols of ``machine``.
"""
