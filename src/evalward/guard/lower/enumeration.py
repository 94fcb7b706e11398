"""Keys that a payload lists from the object that it then reads by them: ``for (k in o) … o[k]`` (guard.md §2).

Such a key names an enumerable property, and a function has an enumerable ``constructor`` only if the payload put it
there. That holds only where neither name can have changed in between, so the stores of the whole payload are searched
when all of it is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalward.guard.domain.instructions import Op

if TYPE_CHECKING:
    from tree_sitter import Node

    from evalward.guard.domain.scope import Reference
    from evalward.guard.lower.drafts import UnitDraft
    from evalward.guard.lower.stores import Stores

_CALLBACKS = {
    "forEach": 0,
    "map": 0,
    "filter": 0,
    "some": 0,
    "every": 0,
    "find": 0,
    "flatMap": 0,
    "reduce": 1,
}
_SAME_KEYS = frozenset({"sort", "filter", "reverse", "slice"})  # give some of the keys, in some order
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})


@dataclass(slots=True, eq=False)
class Listing:
    """A stretch of code in which ``key`` holds one of the keys of what ``subject`` holds.

    ``first`` and ``last`` are the stretch in the code of ``around``: a loop's body, or the call that a callback is
    given to. ``unit`` is the code that reads: the same for a loop, the callback's for a callback, of which ``key`` is
    parameter number ``index``. ``lister`` is what must be the real ``Object`` when ``Object.keys`` gives the keys, or
    a variable that must hold such a function. ``fresh`` says that each round has a key of its own.
    """

    subject: Reference | None
    around: UnitDraft
    unit: UnitDraft
    key: Reference | None = None
    element: int = -1  # the register that a loop's key takes its value from
    lister: Reference | None = None
    fresh: bool = False
    index: int = -1
    first: int = 0
    last: int = 0
    reads: list[tuple[int, Reference, Reference, UnitDraft]] = field(default_factory=list)


BY_LOOP = -2
BY_OBJECT_KEYS = -1


def subject_of(node: Node, source: bytes) -> str:
    """Return the name that is listed: of ``o`` itself, or of ``o || (o = {})``; empty for anything else."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    if node.type == "binary_expression":
        left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
        if left is None or operator is None or operator.type != "||":
            return ""
        node = left
    return _text(node, source) if node.type == "identifier" else ""


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode()


def _member(node: Node, source: bytes) -> tuple[Node, str, list[Node]] | None:
    """Return the object, the method's name and the arguments of ``o.m(…)``."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or function.type != "member_expression":
        return None
    owner, name = function.child_by_field_name("object"), function.child_by_field_name("property")
    if owner is None or name is None:
        return None
    return owner, _text(name, source), arguments.named_children


def listed_by_keys(node: Node, source: bytes) -> str:
    """Return ``o`` of ``Object.keys(o)``, also where the list is then sorted, filtered or cut; else nothing."""
    while node.type == "call_expression":
        called = _member(node, source)
        if called is None:
            break
        node, name, given = called
        if node.type == "identifier" and name == "keys" and _text(node, source) == "Object":
            return _text(given[0], source) if [each.type for each in given] == ["identifier"] else ""
        if name not in _SAME_KEYS:
            break
    return ""


def callback_of(node: Node, source: bytes) -> tuple[str, Node, int] | None:
    """Return what ``Object.keys(o).map(k => …)`` lists, the callback, and which of its parameters is the key."""
    called = _member(node, source)
    if called is None or called[1] not in _CALLBACKS or not called[2]:
        return None
    owner, name, (callback, *_) = called
    if owner.type != "call_expression" or callback.type not in _FUNCTIONS:
        return None
    if callback.child_by_field_name("name") is not None:
        return None
    if any(child.type in {"async", "*"} for child in callback.children):
        return None
    subject = listed_by_keys(owner, source)
    return (subject, callback, _CALLBACKS[name]) if subject else None


def lister_of(node: Node, source: bytes) -> tuple[str, str]:
    """Return the function and what it lists, of ``f(o)``: the former may be an alias of ``Object.keys``."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call_expression" or function is None or arguments is None:
        return "", ""
    given = arguments.named_children
    if function.type != "identifier" or [each.type for each in given] != ["identifier"]:
        return "", ""
    return _text(function, source), _text(given[0], source)


def _read_directly(listing: Listing, key: int) -> None:
    """Let a loop's body read the key of this loop, not that of another loop over the same variable."""
    direct = {register for register, _, name, _ in listing.reads if name.register == key}
    code = listing.unit.code
    for index in range(listing.first, listing.last):
        _, register, _, _, _, span = code[index]
        if register in direct:
            code[index] = (Op.JOIN, register, (listing.element,), None, None, span)


def certain_keys(stores: Stores, listings: list[Listing]) -> dict[int, int]:
    """Return the registers of keys that certainly name an own or enumerable property of what is read by them.

    Each has its reason: ``BY_LOOP``, ``BY_OBJECT_KEYS``, or the variable that holds the lister.
    """

    def stays(reference: Reference, listing: Listing) -> bool:
        """Whether nothing writes a name while a stretch runs: only the code around it does, before or after."""
        written = stores.of(reference.register)
        return (
            reference.register >= 0
            and not reference.is_global
            and reference.register not in stores.aliased
            and (not written or reference.owner == listing.around.index)
            and all(
                unit is listing.around and not listing.first <= index < listing.last
                for unit, index in written
            )
        )

    found: dict[int, int] = {}
    for listing in listings:
        if not listing.reads:
            continue
        lister, subject, unit = listing.lister, listing.subject, listing.unit
        if listing.key is not None:
            if not stays(listing.key, listing) or listing.key.owner != unit.index:
                continue
            key = listing.key.register
            _read_directly(listing, key)
            fresh = listing.fresh and len(stores.of(key)) == 1
        else:
            key = unit.parameters[listing.index] if listing.index < len(unit.parameters) else -1
            if key < 0 or key in stores.aliased or stores.of(key):
                continue
            fresh = True
        if subject is None or not stays(subject, listing):
            continue
        rests_on = (
            BY_LOOP if lister is None else lister.register if lister.name != "Object" else BY_OBJECT_KEYS
        )
        if lister is not None and (lister.register < 0) != (rests_on == BY_OBJECT_KEYS):
            continue
        for register, read, name, reader in listing.reads:
            # What a function further in reads, it may read at any time.
            lasts = reader is unit or (fresh and not stores.of(subject.register))
            if lasts and read.register == subject.register and name.register == key:
                found[register] = rests_on
    return found
