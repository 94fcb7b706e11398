"""The payload's top level, and what is known only when all of it is lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op
from evalward.guard.lower.allow_lists import narrow
from evalward.guard.lower.compiled_helpers import bind_helpers
from evalward.guard.lower.completions import completions
from evalward.guard.lower.enumeration import certain_keys
from evalward.guard.lower.function_bodies import has_directive
from evalward.guard.lower.instance_checks import bind_instances
from evalward.guard.lower.lowering import run
from evalward.guard.lower.stores import stores_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from evalward.guard.domain.instructions import Lowered
    from evalward.guard.lower.lowering import Lowering, Work

_STORE = Op.STORE


def lower_program(lowering: Lowering, nodes: Sequence[Node], *, expression: bool) -> Lowered:
    """Lower the payload's top level and resolve every name in it."""
    build = lowering.build
    statements = [node for node in nodes if node.type not in {"comment", "html_comment", "hash_bang_line"}]
    if expression:
        # One expression, which comments may precede and follow.
        for node in statements:
            build.emit(Op.COMPLETE, node, run(lowering.lower(node)))
    else:
        if has_directive(build, statements):
            build.unit.strict = True
        run(_top_level(lowering, statements))
    top = build.scope
    free = [reference for reference in build.lowered.references if not reference.resolve()]
    assigned = {
        instruction[2].name
        for unit in build.lowered.units
        for instruction in unit.code
        if instruction[0] is _STORE and instruction[2].owner is None
    }
    for name in sorted(assigned):
        build.lowered.global_registers[name] = build.register()
    for reference in free if assigned else ():
        register = build.lowered.global_registers.get(reference.name)
        if register is not None:
            reference.register, reference.implicit = register, True
    if build.compiled:
        bind_helpers(build.lowered.units)
    stretches = lowering.stretches
    if stretches.narrowings or stretches.instances or any(each.reads for each in stretches.listings):
        stores = stores_in(build.lowered.units)
        build.lowered.listed = certain_keys(stores, stretches.listings)
        bind_instances(stores, stretches.instances)
        narrow(stores, stretches.narrowings)
    if top.is_global:
        build.lowered.global_registers |= top.names
    return build.lowered.frozen()


def _top_level(lowering: Lowering, nodes: list[Node]) -> Work:
    build = lowering.build
    build.completing = completions(build, nodes)
    return (yield from lowering.statements(nodes))
