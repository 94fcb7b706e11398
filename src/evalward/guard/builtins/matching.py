"""Splitting and searching, by text and by regular expression (ECMA-262 §22.1.3, §22.2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.builtins.constant_arguments import constants
from evalward.guard.builtins.pattern_protocol import call_symbol, is_pattern, own_exec, texts_inside
from evalward.guard.builtins.replacing import replace
from evalward.guard.domain.atoms import (
    BOTTOM,
    NULL,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_TAINTED_DATA,
    V_UNDEFINED,
    Value,
    of,
)
from evalward.guard.domain.call import Call
from evalward.guard.domain.heap import MAX_ITEMS, HeapObject
from evalward.guard.domain.texts import character_of, decoding_of, part_of
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.interpret.machine import Machine, Transfer


def _split(machine: Machine, call: Call) -> Value:
    array = machine.allocate("array", call.span.start, "split")
    texts = constants(machine, call.this, call)
    separators = constants(machine, call.arg(0), call) if call.args and not is_pattern(call.arg(0)) else None
    if texts is None or separators is None or len(texts) != 1 or len(separators) != 1 or len(call.args) > 1:
        if call.this == V_TAINTED_DATA and separators != [""]:
            return join(
                call_symbol(machine, call, "split"), V_TAINTED_DATA
            )  # one array of data is like any other
        machine.put_element(array, texts_inside(machine, own_exec(machine, call.arg(0), call), call))
        machine.inexact(array)
        whole = machine.to_string(call.this, call.span)
        machine.put_element(array, character_of(whole) if separators == [""] else part_of(whole))
        return join(call_symbol(machine, call, "split"), of(array))
    pieces = texts[0].split(separators[0]) if separators[0] else list(texts[0])
    if (array.items and len(array.items) != len(pieces)) or len(pieces) > MAX_ITEMS:
        machine.inexact(array)
    for index, piece in enumerate(pieces if len(pieces) <= MAX_ITEMS else ()):
        machine.put_item(array, index, of(piece))
    if len(pieces) > MAX_ITEMS:
        machine.put_element(array, character_of(of(*texts)) if not separators[0] else decoding_of(of(*texts)))
    return of(array)


def _test(machine: Machine, call: Call) -> Value:
    own_exec(machine, call.this, call)
    return V_ANY_BOOLEAN


def _search(machine: Machine, call: Call) -> Value:
    found = own_exec(machine, call.arg(0), call)
    index = machine.get(found, "index", call.span) if found else BOTTOM
    return join(join(call_symbol(machine, call, "search"), index), V_ANY_NUMBER)


_PLAIN_SOURCE = re.compile(r"[\w .,;:!#%&@~=<>'\"^$|()*+?\[\]{}-]+\Z", re.ASCII)


def _regexp(machine: Machine, call: Call) -> Value:
    made = machine.allocate("regexp", call.span.start)
    given = call.arg(0) - V_UNDEFINED
    source = machine.to_string(given, call.span) if not is_pattern(given) else V_ANY_STRING
    if given != call.arg(0) or "" in source:
        source = join(source - of(""), of("(?:)"))
    if any(type(text) is str and not _PLAIN_SOURCE.match(text) for text in source):
        source = V_ANY_STRING  # escaped where it is printed
    machine.put_element(made, source)
    machine.put(made, "source", source)
    flags = V_ANY_STRING if source == V_ANY_STRING else of("")
    options = call.arg(1) - V_UNDEFINED
    machine.put(made, "flags", machine.to_string(options, call.span) if options else flags)
    # `RegExp(pattern)` without `new` gives back a pattern (ECMA-262 §22.2.4.1).
    return of(made) if call.constructing else join(of(made), objects_of(call.arg(0)))


def _exec(machine: Machine, call: Call) -> Value:
    array = machine.allocate("array", call.span.start, "match")
    machine.inexact(array)
    text = machine.to_string(
        join(call.arg(0), call.this) if call.path.startswith("String") else call.arg(0), call.span
    )
    part = part_of(text)
    machine.put_element(array, part | V_UNDEFINED)
    machine.put(array, "input", part)
    groups = machine.allocate("object", call.span.start, "groups")
    machine.put_element(groups, part)
    if "index" not in array.properties:
        _describe_match(machine, call, array, groups)
    custom = BOTTOM
    if call.path.startswith("String"):
        found = own_exec(machine, call.arg(0), call)
        machine.put_element(array, texts_inside(machine, found, call))  # of a global pattern
        custom = join(found, call_symbol(machine, call, call.path.rpartition(".")[2]))
    if call.path.endswith("matchAll"):
        outer = machine.allocate("iterator", call.span.start, "matches")
        machine.inexact(outer)
        machine.put_element(outer, join(of(array), custom))
        return join(custom, of(outer))
    return join(custom, of(array, NULL))


def _describe_match(machine: Machine, call: Call, array: HeapObject, groups: HeapObject) -> None:
    """Give a match the members that do not depend on what is searched; a pattern with `g` gives none of them."""
    machine.extend(groups)
    machine.put(array, "groups", join(of(groups), V_UNDEFINED))
    indices = machine.allocate("array", call.span.start, "indices")
    machine.inexact(indices)
    machine.extend(indices)
    pair = machine.allocate("array", call.span.start, "index pair")
    machine.inexact(pair)
    machine.put_element(pair, V_ANY_NUMBER)
    machine.put_element(indices, join(of(pair), V_UNDEFINED))
    named = machine.allocate("object", call.span.start, "indices of groups")
    machine.extend(named)
    machine.put_element(named, join(of(pair), V_UNDEFINED))
    machine.put(indices, "groups", join(of(named), V_UNDEFINED))
    machine.put(array, "indices", join(of(indices), V_UNDEFINED))
    machine.put(array, "index", join(V_ANY_NUMBER, V_UNDEFINED))


def _by_symbol(search: Transfer, name: str) -> Transfer:
    """Return ``RegExp.prototype[Symbol.<name>]``: the method of a text, with the pattern as ``this``."""

    def transfer(machine: Machine, call: Call) -> Value:
        args = (call.this, *call.args[1:])
        return search(machine, Call(f"{_P}{name}", call.arg(0), args, call.rest, call.span))

    return transfer


def _compile(machine: Machine, call: Call) -> Value:
    """Give a pattern another source and other flags (ECMA-262 §B.2.4.1)."""
    source = machine.to_string(call.arg(0), call.span)
    flags = machine.to_string(call.arg(1), call.span)
    for atom in call.this:
        if isinstance(atom, HeapObject):
            machine.put_element(atom, source)
            machine.put(atom, "source", join(source, V_ANY_STRING))
            machine.put(atom, "flags", join(flags, V_ANY_STRING))
    return call.this


_P = "String.prototype."
TRANSFER: dict[str, Transfer] = {
    f"{_P}split": _split,
    f"{_P}search": _search,
    f"{_P}match": _exec,
    f"{_P}matchAll": _exec,
    f"{_P}replace": replace,
    f"{_P}replaceAll": replace,
    "RegExp": _regexp,
    "RegExp.prototype.exec": _exec,
    "RegExp.prototype.compile": _compile,
    "RegExp.prototype.@@match": _by_symbol(_exec, "match"),
    "RegExp.prototype.@@matchAll": _by_symbol(_exec, "matchAll"),
    "RegExp.prototype.@@replace": _by_symbol(replace, "replace"),
    "RegExp.prototype.@@search": _by_symbol(_search, "search"),
    "RegExp.prototype.@@split": _by_symbol(_split, "split"),
    "RegExp.prototype.test": _test,
}
