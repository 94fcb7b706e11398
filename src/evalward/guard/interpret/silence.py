"""Instructions that are reached and give nothing: the closed list of reasons for that (guard.md §7).

The empty value says that execution does not arrive: an instruction has no result if it certainly throws, or if one of
its operands has none. Any other reason is a hole in a model, or a function that no list names. ``havoc`` gives such a
result an unknown value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.domain.atoms import BOTTOM, NEVER_CALLABLE, NULL, UNDEFINED, Known, Primitive, of
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.instructions import Op
from evalward.guard.domain.slots import PRIVATE_PREFIX, SYMBOL_ASYNC_ITERATOR, SYMBOL_ITERATOR
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.instructions import Instruction

REVIVED: Final = frozenset(
    {
        Op.GET,
        Op.CALL,
        Op.CALL_METHOD,
        Op.NEW,
        Op.ITERATE,
        Op.AWAIT,
        Op.SUPER,
        Op.SUPER_CALL,
        Op.TAGGED,
        Op.REST,
    }
)
"""Operations whose result is what other code gives: without one, it is unknown."""

NOTHING_TO_READ: Final = "a member of undefined or null is read or iterated: TypeError (ECMA-262 §7.1.18)"
NO_JSON: Final = "a constant text is no JSON document: SyntaxError (§25.5.1)"
NO_FUNCTION: Final = "an object that is no function is called or constructed: TypeError (§7.3.13)"
NO_ITERATOR: Final = "an object has no iterator, or its method gives a primitive: TypeError (§7.4.3)"
NO_PRIVATE_NAME: Final = "an object lacks the private name: TypeError (§7.3.31)"
NO_PROTOTYPE: Final = "the prototype of a new object is neither an object nor null: TypeError (§20.1.2.2)"
NO_ELEMENT: Final = (
    "the code that makes an element of an array throws, and with it what uses the array (§13.2.4.2)"
)
NEVER_SETTLED: Final = "nothing settles the promise: execution does not continue (§27.7.5.3)"

_SPREAD = frozenset({"array", "arguments", "function", "class"})  # each but the first two throws
_JSON_PARSE = "JSON.parse"
_CALLING = frozenset({"call", "apply"})
_ITERABLE_BY_PROPERTY = frozenset(
    {"object", "class"}
)  # they are iterated only if the payload makes them iterable
_NOTHING = frozenset({UNDEFINED, NULL})
_MADE_BY_THE_PAYLOAD = frozenset({"object", "function", "class", "proxy", "arguments"})


def subjects(instruction: Instruction) -> list[int]:
    """Return the registers without whose value an instruction is not reached."""
    operation, _, first, second, third, _ = instruction
    if operation is Op.TAGGED:
        callee, key = first
        registers = [callee, *third]
        return [*registers, key] if type(key) is int else registers
    if operation is Op.SUPER or operation is Op.SUPER_CALL:
        return list(second) if operation is Op.SUPER_CALL else []
    found = [first]
    if operation is Op.CALL_METHOD:
        found += third
    elif operation is Op.CALL or operation is Op.NEW:
        found += second
    if (operation is Op.GET or operation is Op.CALL_METHOD) and type(second) is int:
        found.append(second)
    return [register if register >= 0 else ~register for register in found]


def is_reached(instruction: Instruction, values: Sequence[Value]) -> bool:
    """Whether every operand of an instruction has a value."""
    return all(values[register] for register in subjects(instruction))


def is_silent(instruction: Instruction, values: Sequence[Value]) -> bool:
    """Whether an instruction gives nothing although it is reached, and the list has no reason for it."""
    return (
        not values[instruction[1]]
        and instruction[0] in REVIVED
        and is_reached(instruction, values)
        and reason(instruction, values) is None
    )


def reason(instruction: Instruction, values: Sequence[Value]) -> str | None:
    """Return why an instruction that is reached gives nothing; None when the list has no reason."""
    operation, _, first, key, third, _ = instruction
    if operation in {Op.SUPER, Op.SUPER_CALL}:
        return None
    if operation is Op.GET and type(key) is str and key.startswith(PRIVATE_PREFIX):
        return NO_PRIVATE_NAME
    subject = values[first[0] if operation is Op.TAGGED else first]
    if operation is Op.GET and all(map(_is_never_made, subject)):
        return NO_PROTOTYPE
    if subject <= _NOTHING and operation in {Op.GET, Op.CALL_METHOD, Op.ITERATE, Op.TAGGED}:
        return NOTHING_TO_READ
    if operation is Op.CALL or operation is Op.NEW:
        if all(type(a) is Known and a.path == _JSON_PARSE for a in subject):
            return NO_JSON
        if UNDEFINED in subject:  # which may be a function that no list names, and newer engines have
            return None
        unfit = _is_not_called if operation is Op.CALL else _has_no_construct
        return NO_FUNCTION if all(map(unfit, subject)) else None
    if operation is Op.CALL_METHOD:
        if key == "parse" and all(type(a) is Known and a.path == "JSON" for a in subject):
            return NO_JSON
        if all(type(a) is Known and a.path == "Reflect" for a in subject):
            return NO_FUNCTION if _reflects_on_nothing(key, third, values) else None
        if key in _CALLING and all(_calls_nothing(a, third, values) for a in subject):
            return NO_FUNCTION
        return NO_FUNCTION if not any(map(is_built_in, subject)) else None
    if operation is Op.ITERATE and all(map(_lacks_an_element, subject)):
        return NO_ELEMENT
    if operation is Op.ITERATE:
        return NO_ITERATOR if all(_gives_no_iterator(a, values) for a in subject) else None
    if operation is Op.AWAIT and all(isinstance(a, HeapObject) and a.kind == "promise" for a in subject):
        return NEVER_SETTLED
    return None


def _has_no_call(atom: Atom) -> bool:
    """Whether an atom certainly lacks [[Call]]: an object that inherits from a function's prototype may have it."""
    if not isinstance(atom, HeapObject):
        return _is_primitive(atom)
    if atom.kind != "object":
        return not atom.callable and atom.kind != "proxy"
    seen: set[Atom] = set()
    pending: list[Atom] = [atom]
    while pending:
        current = pending.pop()
        if not isinstance(current, HeapObject):
            return False
        seen.add(current)
        pending.extend(
            parent
            for parent in current.prototype - seen
            if not (_is_primitive(parent) or (type(parent) is Known and parent.path != "Function.prototype"))
        )
    return True


def _is_not_called(atom: Atom) -> bool:
    return _has_no_call(atom) or (isinstance(atom, HeapObject) and atom.kind == "class")


def _has_no_construct(atom: Atom) -> bool:
    return _has_no_call(atom) or (
        isinstance(atom, HeapObject) and atom.unit is not None and (atom.unit.arrow or atom.unit.generator)
    )


def _reflects_on_nothing(key: object, registers: Sequence[int], values: Sequence[Value]) -> bool:
    """Whether a function of ``Reflect`` is given a primitive, or what it cannot call or construct."""
    unfit = {"apply": _is_not_called, "construct": _has_no_construct}.get(str(key), _is_primitive)
    for register in registers:
        given = values[register if register >= 0 else ~register]
        if register >= 0:
            return all(map(unfit, given))
        for atom in given:  # a spread, which may also be empty
            inside = atom.contents() if isinstance(atom, HeapObject) and atom.kind in _SPREAD else of(atom)
            if not all(map(unfit, inside)):
                return False
    return True


def _gives_no_iterator(atom: Atom, values: Sequence[Value]) -> bool:
    if _is_primitive(atom):
        return type(atom) is not str
    if not isinstance(atom, HeapObject) or atom.kind not in _ITERABLE_BY_PROPERTY or atom.escaped:
        return False
    # A class that extends what is no constructor is never made.
    if atom.kind == "class" and not all(
        type(parent) is Known or _has_no_construct(parent) or _gives_no_iterator(parent, values)
        for parent in atom.prototype - {atom}
    ):
        return False
    methods = join(
        atom.properties.get(SYMBOL_ITERATOR, BOTTOM), atom.properties.get(SYMBOL_ASYNC_ITERATOR, BOTTOM)
    )
    if atom.extensible:
        methods = join(methods, atom.elements)
    return all(
        _is_not_called(method)
        or (
            isinstance(method, HeapObject)
            and method.unit is not None
            and not method.unit.generator
            and all(map(_is_primitive, values[method.unit.result]))
        )
        for method in methods
    )


def _lacks_an_element(atom: Atom) -> bool:
    return isinstance(atom, HeapObject) and atom.kind == "array" and atom.exact and not all(atom.items)


def _is_never_made(atom: Atom) -> bool:
    return (
        isinstance(atom, HeapObject)
        and atom.kind == "object"
        and bool(atom.prototype)
        and all(parent is not NULL and _is_primitive(parent) for parent in atom.prototype)
    )


def _calls_nothing(atom: Atom, registers: Sequence[int], values: Sequence[Value]) -> bool:
    """Whether the method ``call`` or ``apply`` of an atom, if it has one, certainly calls what is no function."""
    if type(atom) is Known and atom.path in {"Function.prototype.call", "Function.prototype.apply"}:
        receiver = registers[0] if registers else None
        return receiver is None or (receiver >= 0 and all(map(_is_not_called, values[receiver])))
    seen: set[Atom] = set()
    pending = [atom]
    while pending:
        current = pending.pop()
        if not isinstance(current, HeapObject):
            if not (type(current) is Known or _is_primitive(current)):
                return False
            continue  # of the engine's own objects only functions have these methods
        if current.escaped or current.extensible or current.elements or current.kind == "proxy":
            return False
        if _CALLING & (current.properties.keys() | current.getters.keys()):
            return False
        seen.add(current)
        pending.extend(current.prototype - seen)
    return _is_not_called(atom)


def is_built_in(atom: Atom) -> bool:
    """Whether an atom is an object of a class that a newer engine may have given further methods."""
    return type(atom) is Known or (isinstance(atom, HeapObject) and atom.kind not in _MADE_BY_THE_PAYLOAD)


def _is_primitive(atom: Atom) -> bool:
    return type(atom) is str or type(atom) is Primitive or atom in NEVER_CALLABLE
