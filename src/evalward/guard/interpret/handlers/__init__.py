"""What each instruction of ``ir.Op`` does, one idea per module: ``op_<name>`` handles the instruction of that name."""
