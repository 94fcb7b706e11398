"""Transfer functions of built-in and host functions, one module per global object or family (guard.md §2).

Input: the machine and a ``Call``. Output: the abstract result; effects on objects go through the machine. Each module
exports a table from catalogue path to transfer function, and ``transfer_table`` joins the tables.
"""
