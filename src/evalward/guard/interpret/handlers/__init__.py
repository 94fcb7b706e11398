"""The handlers of instructions, one idea per module: ``op_<name>`` handles ``instructions.Op.<NAME>``."""
