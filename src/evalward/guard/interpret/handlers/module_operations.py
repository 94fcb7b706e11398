"""Imports of modules, static and dynamic, and ``import.meta``: each is a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import dynamic_import, import_meta, static_import
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import V_UNKNOWN, Value

if TYPE_CHECKING:
    from evalward.guard.domain.instructions import Instruction
    from evalward.guard.interpret.findings import Findings


class ModuleOperations:
    """Instructions that load modules."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def op_import(self, instruction: Instruction) -> Value:
        self._findings.report(dynamic_import.LABEL, Rank.USED, instruction[5], None, "a module is imported")
        return V_UNKNOWN

    def op_import_meta(self, instruction: Instruction) -> Value:
        self._findings.report(import_meta.LABEL, Rank.USED, instruction[5], None, "`import.meta` is read")
        return V_UNKNOWN

    def op_static_import(self, instruction: Instruction) -> Value:
        self._findings.report(
            static_import.LABEL,
            Rank.USED,
            instruction[5],
            None,
            "a module is imported or exported",
        )
        return V_UNKNOWN
