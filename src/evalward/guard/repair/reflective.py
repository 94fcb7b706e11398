"""Rewrites of reads and writes of prototypes, and of windows of frames."""

from __future__ import annotations

from typing import Final

from evalward.guard.repair.reading import Edit, Placed, Reading, arguments_of, kind_of

_WRITES: Final = frozenset(
    {"assignment_expression", "augmented_assignment_expression", "for_in_statement", "update_expression"}
)


def frame_document(reading: Reading, placed: Placed) -> list[Edit]:
    """``frame.contentWindow.document`` → ``frame.contentDocument``."""
    owner, name = reading.member(placed.node)
    if owner is None or name != "document":
        return []
    frame, inner = reading.member(owner)
    if frame is None or inner != "contentWindow":
        return []
    return [reading.edit(placed.node, f"{reading.text(frame)}.contentDocument")]


def read_prototype(reading: Reading, placed: Placed) -> list[Edit]:
    """``x.__proto__`` → ``Object.getPrototypeOf(x)``, where it is read."""
    owner, name = reading.member(placed.node)
    if owner is None or name != "__proto__":
        return []
    outer = placed.around[-1] if placed.around else None
    if outer is not None and kind_of(outer) in _WRITES and outer.child_by_field_name("left") == placed.node:
        return []
    return [reading.edit(placed.node, f"Object.getPrototypeOf({reading.text(owner)})")]


def bare_object(reading: Reading, placed: Placed) -> list[Edit]:
    """``{ __proto__: null }`` → ``Object.create(null)``; other properties are assigned to it."""
    pairs = placed.node.named_children
    if kind_of(placed.node) != "object" or not pairs or kind_of(pairs[0]) != "pair":
        return []
    key, value = pairs[0].child_by_field_name("key"), pairs[0].child_by_field_name("value")
    if key is None or value is None or kind_of(value) != "null":
        return []
    if reading.text(key) not in {"__proto__", "'__proto__'", '"__proto__"'}:
        return []
    if len(pairs) == 1:
        return [reading.edit(placed.node, "Object.create(null)")]
    rest = ", ".join(reading.text(each) for each in pairs[1:])
    return [reading.edit(placed.node, f"Object.assign(Object.create(null), {{ {rest} }})")]


def own_property(reading: Reading, placed: Placed) -> list[Edit]:
    """``defineProperty(Object.getPrototypeOf(x), …)`` → ``defineProperty(x, …)``."""
    owner, name = reading.callee(placed.node)
    given = arguments_of(placed.node)
    if owner is None or name != "defineProperty" or reading.text(owner) != "Object" or not given:
        return []
    if kind_of(given[0]) != "call_expression":
        return []
    above, read = reading.callee(given[0])
    inner = arguments_of(given[0])
    if above is None or reading.text(above) != "Object" or read != "getPrototypeOf" or len(inner) != 1:
        return []
    return [reading.edit(given[0], reading.text(inner[0]))]
