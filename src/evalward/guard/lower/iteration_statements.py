"""``for … in`` and ``for … of``: the loop variable, and the keys that a loop lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.instructions import Op
from evalward.guard.domain.scope import Scope
from evalward.guard.lower.declarations import dispose
from evalward.guard.lower.enumeration import Listing, listed_by_keys, lister_of, subject_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from evalward.guard.lower.lowering import Handler, Lowering, Work


def _lower_for_in_statement(lowering: Lowering, node: Node) -> Work:
    build = lowering.build
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator, body = node.child_by_field_name("operator"), node.child_by_field_name("body")
    kind = node.child_by_field_name("kind")
    assert left is not None  # noqa: S101 - the grammar requires all four
    assert right is not None  # noqa: S101
    assert operator is not None  # noqa: S101
    assert body is not None  # noqa: S101
    outer = build.scope
    build.scope = Scope(outer, build.unit.index)
    value_node = node.child_by_field_name("value")
    if value_node is not None and kind is not None:  # Annex B.3.5: for (var a = 1 in o)
        initial = yield lowering.lower(value_node)
        yield lowering.bind(left, initial, left, kind.type)
    subject = yield lowering.lower(right)
    if operator.type == "in":
        element = build.emit(Op.KEYS, right, subject)
    else:
        element = build.emit(Op.ITERATE, right, subject)
        if any(child.type == "await" for child in node.children):
            element = build.emit(Op.AWAIT, right, element)
    is_using = any(child.type == "using" for child in node.children)
    yield lowering.bind(left, element, left, "const" if is_using else kind.type if kind is not None else "")
    listing: Listing | None = None
    if left.type == "identifier":
        lister, listed = "", subject_of(right, build.source)
        if operator.type != "in":
            lister, listed = "Object", listed_by_keys(right, build.source)
            if not listed:
                lister, listed = lister_of(right, build.source)
        listing = lowering.stretches.list_keys(listed, key=build.name(left), lister=lister)
        listing.element = element
        listing.fresh = kind is not None and kind.type in {"let", "const"}
        lowering.stretches.listing.append(listing)
    yield lowering.lower(body)
    if listing is not None:
        lowering.stretches.listing.remove(listing)
        listing.last = len(build.unit.code)
    if is_using:
        dispose(build, left, element)
    build.scope = outer
    return build.undefined


HANDLERS: Final[Mapping[str, Handler]] = {
    "for_in_statement": _lower_for_in_statement,
}
