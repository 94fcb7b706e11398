"""The recursion of lowering: calls between expressions, patterns, functions and statements.

A handler lowers one kind of node. It returns a register, or a generator that yields the work that it waits for and
returns the register (``run``). Handlers stand in the tables ``HANDLERS`` of their modules; ``lower.lower`` composes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tree_sitter import Node

from evalward.guard.domain.instructions import Op
from evalward.guard.lower.instance_checks import instances_of

if TYPE_CHECKING:
    from evalward.guard.lower.builder import Builder
    from evalward.guard.lower.stretches import Stretches

Steps: TypeAlias = Generator[Any, int, int]
Work: TypeAlias = int | Steps


class Lowering(Protocol):
    """One payload being lowered: its state, and the handlers by node kind.

    Modules call downwards directly (statements → functions → patterns → expressions → calls); these methods are the
    calls upwards.
    """

    build: Builder
    stretches: Stretches

    def lower(self, node: Node) -> Work:
        """Return the register of an expression, or the generator that makes it; statements give ``undefined``."""
        ...

    def bind(self, target: Node, register: int, node: Node, declare: str) -> Work:
        """Destructure a value into a pattern; ``declare`` is the kind of declaration, empty for an assignment."""
        ...

    def named_function(self, node: Node, name: str) -> Work:
        """Lower a function or class expression that takes its name from where it is assigned."""
        ...

    def method(self, node: Node) -> Generator[Any, int, tuple[str, str | int, int]]:
        """Lower a method definition to its kind (``init``, ``get``, ``set``), its key and its function's register."""
        ...

    def statements(self, nodes: list[Node]) -> Steps:
        """Lower a statement list."""
        ...


Handler: TypeAlias = Callable[[Lowering, Node], Work]


def run(work: Work) -> int:
    """Run a generator and all that it yields to completion; an int is its own result."""
    if type(work) is int:
        return work
    stack: list[Any] = [work]
    value: int | None = None
    while stack:
        try:
            item = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
            continue
        if type(item) is int:
            value = item
        else:
            stack.append(item)
            value = None
    assert value is not None  # noqa: S101 - every generator returns a register
    return value


def unmodelled(lowering: Lowering, node: Node) -> Work:
    """Evaluate the children and make the result unknown, with all that they reach (the havoc rule)."""
    operands = []
    for child in lowering.build.children(node):
        operands.append((yield lowering.lower(child)))  # noqa: PERF401  a comprehension cannot yield
    return lowering.build.emit(Op.HAVOC, node, tuple(operands))


def where(lowering: Lowering, condition: Node, first: int, node: Node) -> Work:
    """Lower code that runs only where a condition holds, whose code begins at ``first``."""
    build, stretches = lowering.build, lowering.stretches
    found = instances_of(condition, build.unit, first)
    stretches.known_instances.extend(found)
    register = yield lowering.lower(node)
    for instance in found:
        instance.last = len(build.unit.code)
        stretches.known_instances.remove(instance)
        if instance.reads:
            stretches.instances.append(instance)
    return register
