"""``JSON``: documents that the payload itself holds fold, others are data from outside (ECMA-262 §25.5)."""

from __future__ import annotations

import json
import math
import re
from itertools import count
from typing import TYPE_CHECKING, Any

from evalward.guard.builtins.constant_arguments import constants
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    DECODED_STRING,
    FALSE,
    HARMLESS_STRING,
    NULL,
    PREFIXED_STRING,
    TAINTED_CHARACTER,
    TAINTED_STRING,
    TRUE,
    UNDEFINED,
    V_ANY_STRING,
    V_TAINTED_DATA,
    Known,
    Primitive,
    Value,
    number,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.limit import TOO_MANY_STEPS
from evalward.guard.domain.slots import SYMBOL_PREFIX
from evalward.guard.domain.values import join, string, widened
from evalward.guard.markup import is_active

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_MAX_EXACT = 2**53
_MAX_JSON_DEPTH = 250
_EXACT_ROUNDS = 4  # constants that still grow after them are widened


_HIDDEN = of(DECODED_STRING, PREFIXED_STRING, HARMLESS_STRING)


def _json_parse(machine: Machine, call: Call) -> Value:
    texts = constants(machine, call.arg(0), call)
    hidden = not _HIDDEN.isdisjoint(machine.to_string(call.arg(0), call.span))
    made = (
        V_TAINTED_DATA | of(DECODED_STRING) if hidden else V_TAINTED_DATA
    )  # a text, as all data, when it stands in quotes
    names = {""}
    if texts is not None:
        made = BOTTOM
        for position, text in enumerate(texts):
            try:
                document = json.loads(text)
            except RecursionError:
                machine.spend(TOO_MANY_STEPS)
            except ValueError:
                continue
            made = join(made, from_json(machine, document, call.span.start, f"json{position}"))
            names |= _keys(document)
    if len(call.args) > 1:
        reviver = call.arg(1)
        machine.use(reviver, Flow.CALLBACK, call.span)
        holder = machine.allocate("object", call.span.start, "holder")
        machine.extend(holder)
        machine.put_element(holder, made)
        keys = of(TAINTED_STRING) if texts is None else widened(frozenset(names))
        revived: Value = BOTTOM
        while True:  # values that the reviver writes into a holder are visited too
            inside = reachable(machine, made)
            holders = frozenset(a for a in inside if isinstance(a, HeapObject)) | of(holder)
            given = join(join(keys, inside), V_TAINTED_DATA)
            result = machine.call(reviver, holders, (keys, given, of(holder)), call.span)
            for atom in inside:
                if isinstance(atom, HeapObject):  # each place may now hold what the reviver gave for it
                    machine.inexact(atom)
                    if atom.kind == "object":
                        machine.extend(atom)
                    machine.put_element(atom, result)
            if result <= revived and reachable(machine, made) == inside:
                break
            revived = join(revived, result)
        return join(join(revived, made), machine.get_element(holder, call.span.start))
    return made


def _keys(document: Any) -> set[str]:
    """Return every key that a reviver gets for a document."""
    found: set[str] = set()
    pending = [document]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            found.update(each)
            pending.extend(each.values())
        elif isinstance(each, list):
            found.update(map(str, range(len(each))))
            pending.extend(each)
    return found


def from_json(machine: Machine, document: Any, start: int, tag: str) -> Value:
    """Return the value of parsed JSON; past a size it is data like any other."""
    machine.spend()
    if isinstance(document, str):
        return string(document)
    if isinstance(document, bool):
        return of(TRUE if document else FALSE)
    if isinstance(document, (int, float)):
        return number(float(document)).value
    if document is None:
        return of(NULL)
    machine.spend(1 if tag.count(".") < _MAX_JSON_DEPTH else TOO_MANY_STEPS)
    made = machine.allocate("array" if isinstance(document, list) else "object", start, tag)
    entries = enumerate(document) if isinstance(document, list) else document.items()
    for position, (key, value) in enumerate(entries):
        inner = from_json(machine, value, start, f"{tag}.{position}")
        if isinstance(document, list):
            machine.put_item(made, position, inner)
        else:
            machine.put(made, str(key), inner)
    return of(made)


def reachable(machine: Machine, value: Value) -> Value:
    """Return the join of a value and everything reachable from it."""
    result, pending = value, [atom for atom in value if isinstance(atom, HeapObject)]
    seen = set(pending)
    while pending:
        target = pending.pop()
        machine.observe(target)
        machine.spend()
        inside = target.everything()
        if target.prototype:  # a hole of an array reads them
            inside = join(inside, machine.get_element(target, target.start))
        result = join(result, inside)
        for atom in inside:
            if isinstance(atom, HeapObject) and atom not in seen:
                seen.add(atom)
                pending.append(atom)
    return result


def convert_all(machine: Machine, inside: Value, call: Call) -> Value:
    """Call every ``toJSON`` that the payload defines, also in the results; return what they and accessors give."""
    made: Value = BOTTOM
    seen: set[HeapObject] = set()
    pending = [atom for atom in inside if isinstance(atom, HeapObject)]
    while pending:
        atom = pending.pop()
        if atom in seen:
            continue
        seen.add(atom)
        for getter in list(atom.getters.values()):
            given = reachable(machine, machine.call(getter, of(atom), (), call.span))
            made = join(made, given)
            pending.extend(a for a in given if isinstance(a, HeapObject))
        convert = machine.get_method(atom, "toJSON")
        if convert:
            machine.use(convert, Flow.CALLBACK, call.span)
            given = reachable(machine, machine.call(convert, of(atom), (V_ANY_STRING,), call.span))
            made = join(made, given)
            pending.extend(a for a in given if isinstance(a, HeapObject))
    return made


def _json_stringify(machine: Machine, call: Call) -> Value:
    value, replacer = call.arg(0), call.arg(1)
    functions = frozenset(a for a in replacer if not (type(a) is Primitive or type(a) is str))
    if functions:
        machine.use(functions, Flow.CALLBACK, call.span)
        inside = reachable(machine, value)
        wrapper = machine.allocate("object", call.span.start, "wrapper")
        machine.put(wrapper, "", value)
        for rounds in count():  # results of the replacer are visited too
            holders = frozenset(a for a in inside if isinstance(a, HeapObject)) or inside
            result = machine.call(functions, join(holders, of(wrapper)), (V_ANY_STRING, inside), call.span)
            result = join(result, convert_all(machine, inside, call))
            wider = reachable(machine, join(inside, result))
            if wider <= inside:
                break
            inside = wider if rounds < _EXACT_ROUNDS else widened(wider, force=True)
        machine.use(inside, Flow.COERCE, call.span)
        return _text_with(inside)
    inside = reachable(machine, value)
    converted = convert_all(machine, inside, call)
    machine.use(inside | _written_out(machine, converted), Flow.COERCE, call.span)
    texts = [atom for atom in value if type(atom) is str]
    if texts and len(texts) == len(value):
        return frozenset(_written(text) for text in texts)
    document = _document(machine, value, 0) if len(call.args) == 1 else _UNKNOWN
    if document is not _UNKNOWN:
        return string(_written(document))
    primitives = [atom for atom in value if type(atom) is Primitive]
    if primitives and len(primitives) == len(value):
        return frozenset(_of_primitive(atom) for atom in primitives)
    held = join(inside, converted)
    return join(
        of(TAINTED_STRING) if TAINTED_STRING in value or TAINTED_CHARACTER in value else V_ANY_STRING,
        _text_with(held) & of(ACTIVE_MARKUP),
    )


def _written_out(machine: Machine, converted: Value) -> Value:
    """Return the capabilities that are written as what they hold; a function is left out."""
    return frozenset(
        atom for atom in converted if type(atom) is Known and not machine.catalogue.get(atom.path).callable
    )


def _text_with(inside: Value) -> Value:
    """Return an unknown document with these values in it: markup runs from there as well."""
    active = ACTIVE_MARKUP in inside or any(type(atom) is str and is_active(atom) for atom in inside)
    return of(ACTIVE_MARKUP) if active else V_ANY_STRING


def _written(document: Any) -> str:
    """Return the text of a document; what is half of a surrogate pair is written as its escape."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return _LONE_SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _of_primitive(atom: Primitive) -> Atom:
    if atom.type in {"undefined", "symbol"}:
        return UNDEFINED
    return atom.text if atom.type != "number" or math.isfinite(atom.number) else "null"


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_UNKNOWN = object()


_MAX_DOCUMENT_DEPTH = 100


def _document(machine: Machine, value: Value, depth: int) -> Any:
    """Return the JSON document that a value certainly is, ``_UNKNOWN`` otherwise."""
    if len(value) != 1 or depth > _MAX_DOCUMENT_DEPTH:
        return _UNKNOWN
    (atom,) = value
    if type(atom) is str:
        return atom
    if (
        type(atom) is Primitive
        and atom.type == "number"
        and abs(atom.number) < _MAX_EXACT
        and atom.number == int(atom.number)
    ):
        return int(atom.number)
    if atom is TRUE or atom is FALSE or atom is NULL:
        return {TRUE: True, FALSE: False, NULL: None}[atom]
    if (
        not isinstance(atom, HeapObject)
        or atom.escaped
        or atom.extensible
        or atom.prototype
        or atom.getters
        or atom.uncertain
    ):
        return _UNKNOWN
    machine.observe(atom)
    machine.spend(len(atom.properties) + len(atom.items))
    if atom.kind == "array" and atom.exact and not atom.properties:
        made = [_document(machine, item, depth + 1) for item in atom.items]
        return _UNKNOWN if _UNKNOWN in made else made
    if atom.kind != "object" or any(
        name.startswith(SYMBOL_PREFIX) or name.isdigit() for name in atom.properties
    ):
        return _UNKNOWN
    members = {name: _document(machine, item, depth + 1) for name, item in atom.properties.items()}
    return _UNKNOWN if _UNKNOWN in members.values() else members


TRANSFER: dict[str, Transfer] = {
    "JSON.parse": _json_parse,
    "JSON.stringify": _json_stringify,
}
