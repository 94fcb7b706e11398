"""Declarations of variables, and the disposal of resources that ``using`` declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import UNDEFINED, of
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import SYMBOL_ASYNC_DISPOSE, SYMBOL_DISPOSE
from evalward.guard.lower.call_expressions import named
from evalward.guard.lower.node_kinds import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.lowering import Handler, Lowering, Work

_DECLARATOR = kinds("variable_declarator")
_IDENTIFIER = kinds("identifier")


def _lower_declaration(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    first = node.children[0].type
    kind = first if first in {"let", "const", "var"} else "const"
    for child in build.children(node):
        if child.kind_id not in _DECLARATOR:
            continue
        name, *initializer = build.parts(child)
        if not initializer:
            register = build.declare(build.name(name), kind)
            if kind == "var":
                build.lowered.constants.setdefault(register, of(UNDEFINED))
            else:
                build.emit(Op.STORE, child, build.reference(build.name(name)), build.undefined)
            continue
        simple = name.kind_id in _IDENTIFIER
        work = named(lowering, initializer[-1], build.name(name) if simple else "")
        register = work if type(work) is int else (yield work)
        work = lowering.bind(name, register, child, kind)
        if type(work) is not int:
            yield work
        if node.type == "using_declaration":
            dispose(build, child, register)
    return build.undefined


def dispose(build: Builder, node: Node, register: int) -> None:
    """End a resource with its block; what that throws is thrown with what the block threw (a SuppressedError)."""
    for method in (SYMBOL_DISPOSE, SYMBOL_ASYNC_DISPOSE):
        build.emit(Op.CALL_METHOD, node, register, method, ())
    thrown = build.emit(Op.CAUGHT, node)
    both = (("init", "error", thrown), ("init", "suppressed", thrown))
    build.emit(Op.THROW, node, build.emit(Op.OBJECT, node, both))


HANDLERS: Final[Mapping[str, Handler]] = {
    "lexical_declaration": _lower_declaration,
    "variable_declaration": _lower_declaration,
    "using_declaration": _lower_declaration,
}
