"""Handlers of instructions, by kind of instruction: ``op_<name>`` handles ``instructions.Op.<NAME>``.

Input: an instruction, whose operands are registers. Output: the value that its register receives. A handler selects the
operation on objects or the call; it does not walk prototype chains itself.
"""
