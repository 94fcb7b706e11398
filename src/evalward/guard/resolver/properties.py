"""Property reads and writes: own properties, prototypes, accessors, the catalogue, unknown keys (guard.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.resolver.heap import MAX_ITEMS, HeapObject
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.operators import Operators
from evalward.guard.resolver.values import (
    ANY_BIGINT,
    ANY_BOOLEAN,
    ANY_NUMBER,
    ANY_STRING,
    ANY_SYMBOL,
    BOTTOM,
    BUILT,
    CONSTRUCTOR0,
    CONSTRUCTOR1,
    DATA,
    NULL,
    SELECTED,
    STRING_UNKNOWNS,
    U0,
    U1,
    U2,
    UNDEFINED,
    V_NUMBER,
    V_STRING,
    V_UNDEFINED,
    W0,
    Host,
    Known,
    Primitive,
    Value,
    host,
    join,
    known,
    number,
    of,
    symbol,
)

if TYPE_CHECKING:
    from evalward.guard.resolver.values import Atom

PROTOTYPES = {
    "object": "Object.prototype",
    "array": "Array.prototype",
    "arguments": "Object.prototype",
    "function": "Function.prototype",
    "class": "Function.prototype",
    "native": "Function.prototype",
    "regexp": "RegExp.prototype",
    "promise": "Promise.prototype",
    "map": "Map.prototype",
    "set": "Set.prototype",
    "weakmap": "WeakMap.prototype",
    "weakset": "WeakSet.prototype",
    "weakref": "WeakRef.prototype",
    "generator": "Iterator.prototype",
    "iterator": "Iterator.prototype",
}
_PRIMITIVES = {"number": "Number.prototype", "boolean": "Boolean.prototype", "symbol": "Symbol.prototype"}
_PRIMITIVE_UNKNOWNS = {
    ANY_NUMBER: "Number.prototype",
    ANY_BOOLEAN: "Boolean.prototype",
    ANY_BIGINT: "BigInt.prototype",
    ANY_SYMBOL: "Symbol.prototype",
}
_MAX_CHAIN = 32
_MAX_MEMBERS = 4
_INHERITED = frozenset({"toString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"})
_INHERITED_ACCESSORS = frozenset({"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"})


class Properties(Operators):
    """Reads of properties."""

    if TYPE_CHECKING:

        def materialize(self, result: str, start: int, label: str | None = None) -> Value: ...

        def global_value(self, name: str) -> Value: ...

    def allowed_read(self, path: str, name: str) -> bool:
        """Whether policy allows a read that the catalogue denies."""
        if path == "process.env":
            return name in self.env_names or name.startswith("ELECTRON_")
        return path == "process" and name in self.process_reads

    def get(self, owner: Value, name: str, start: int, end: int) -> Value:
        """Return a read by a known name."""
        result: Value = BOTTOM
        for atom in owner:
            if atom is UNDEFINED or atom is NULL:
                continue
            found = self.get_from(atom, name, of(atom), start, end)
            result = join(result, found or V_UNDEFINED)
        return result

    def get_computed(self, owner: Value, key: Value, start: int, end: int) -> Value:
        """Return a read by a computed key."""
        resolved = self.key(key, start, end)
        result: Value = BOTTOM
        if resolved.unknown and resolved.tainted and not self._is_bare(owner):
            result = of(SELECTED)
        for name in resolved.names:
            result = join(result, self.get(owner, name, start, end))
        if resolved.numeric:
            for atom in owner:
                result = join(result, self.get_element(atom, start))
        if resolved.unknown:
            for atom in owner:
                result = join(result, self.get_unknown(atom, start, end))
        return result

    @staticmethod
    def _is_bare(owner: Value) -> bool:
        """Whether every object has no prototype, so that no key leads to a shared one."""
        return all(isinstance(atom, HeapObject) and atom.prototype == of(NULL) for atom in owner)

    def get_from(self, atom: Atom, name: str, this: Value, start: int, end: int) -> Value:
        """Return one atom's property, BOTTOM when it has none."""
        if name == "__proto__" and not (isinstance(atom, HeapObject) and name in atom.properties):
            self.report("__proto__", 0, start, end, atom, "`__proto__` is read")
            return self.prototype_of(atom)
        if isinstance(atom, HeapObject):
            return self._get_from_object(atom, name, this, start, end)
        if type(atom) is Known:
            return self._get_from_known(atom, name, start, end)
        if type(atom) is str:
            return self._get_from_string(atom, name, start, end)
        if type(atom) is Primitive:
            if atom.type == "symbol" and name == "description":
                own = atom.text.startswith("@@ ") and atom.text != "@@ any"
                return of(atom.text[3:]) if own else of(f"Symbol.{atom.text[2:]}") if atom.text != "@@ any" else V_STRING
            return self.get_builtin(_PRIMITIVES.get(atom.type, ""), name, start, end)
        return self._get_from_unknown(atom, name, start, end)

    def _get_from_string(self, atom: str, name: str, start: int, end: int) -> Value:
        if name == "length":
            return of(number(len(atom))) if atom.isascii() else V_NUMBER
        if name.isdigit():
            if not atom.isascii() or len(name) > 6:  # noqa: PLR2004 - longer than any string that is followed
                return V_STRING
            return of(atom[int(name)]) if int(name) < len(atom) else V_UNDEFINED
        return self.get_builtin("String.prototype", name, start, end)

    def _get_from_unknown(self, atom: Atom, name: str, start: int, end: int) -> Value:
        if atom in STRING_UNKNOWNS:
            if name == "length" or not name.isdigit():
                return V_NUMBER if name == "length" else self.get_builtin("String.prototype", name, start, end)
            return of(atom)
        if isinstance(atom, Host):
            return self._get_from_host(atom, name, start, end)
        if atom in _PRIMITIVE_UNKNOWNS:
            return self.get_builtin(_PRIMITIVE_UNKNOWNS[atom], name, start, end)  # type: ignore[index]  # checked above
        if name == "constructor":
            return self._constructor_of_unknown(atom, start, end)
        if name in _INHERITED or name in _INHERITED_ACCESSORS:
            found = self.get_builtin("Object.prototype", name, start, end)
            return found if atom is U2 else found | of(U1)
        if atom is DATA:
            return of(DATA)
        if atom is SELECTED:
            return of(SELECTED) if name == "prototype" else BOTTOM
        if name in {"call", "apply", "bind"}:
            return of(known(f"Function.prototype.{name}"))
        return of(U1)

    def _constructor_of_unknown(self, atom: Atom, start: int, end: int) -> Value:
        if atom in {CONSTRUCTOR0, CONSTRUCTOR1}:
            made = known("Function", ".constructor.constructor")
            self.origin(made, atom, "`constructor` of a constructor is `Function`", start, end)
            return of(made)
        if atom in {U2, DATA}:
            return of(CONSTRUCTOR1)
        self.origin(CONSTRUCTOR0, atom, "`constructor` of what may be a function", start, end)
        return of(CONSTRUCTOR0)

    def _get_from_host(self, atom: Host, name: str, start: int, end: int) -> Value:
        if name == "constructor":
            return of(CONSTRUCTOR1)
        if name in _INHERITED or name in _INHERITED_ACCESSORS:
            return self.get_builtin("Object.prototype", name, start, end)
        if name in {"call", "apply", "bind"}:
            return of(known(f"Function.prototype.{name}"))
        return of(host(f"{atom.path}.{name}"))

    def get_builtin(self, path: str, name: str, start: int, end: int) -> Value:
        """Return a member of a built-in prototype or of what it inherits from."""
        for _ in range(_MAX_CHAIN):
            if not path:
                break
            entry = self.catalogue.get(path)
            member = entry.members.get(name)
            if member is not None:
                if name == "constructor":
                    return self._constructor(member.result[1:], start, end)
                made = self.materialize(member.result, start, member.label)
                if member.label is not None:
                    for atom in made:
                        self.origin(atom, None, f"`{name}` is read here", start, end)
                return made
            path = entry.prototype
        return of(known("Array.prototype.values" if name == "@@iterator" else name)) if name.startswith("@@") else BOTTOM

    def _constructor(self, path: str, start: int, end: int) -> Value:
        if path == "Function":
            made = known("Function", "function-constructor")
            self.origin(made, None, "`constructor` of a function is `Function`", start, end)
            return of(made)
        made = known(path, by_constructor=True)
        self.origin(made, None, f"`constructor` is `{path}`", start, end)
        return of(made)

    def _get_from_known(self, atom: Known, name: str, start: int, end: int) -> Value:
        entry = self.catalogue.get(atom.path)
        member = entry.members.get(name) if name != "constructor" or atom.path.endswith("prototype") else None
        if member is None:
            return self._unlisted(atom, name, start, end)
        if name == "constructor":
            return self._constructor(member.result[1:], start, end)
        if atom.path == "Symbol" and member.result == "symbol":
            return of(symbol(name))
        made = self.materialize(member.result, start, member.label)
        for child in made:
            if type(child) is Known and child.label is not None:
                note = f"`{name}` is read from `{atom.path}`" if atom.path != "globalThis" else f"`{child.path}` is read here"
                self.origin(child, atom, note, start, end)
        return made

    def _unlisted(self, atom: Known, name: str, start: int, end: int) -> Value:
        """Return a member that no list names: inherited, or what the entry says of others."""
        entry = self.catalogue.get(atom.path)
        if name.isdigit():
            return self.materialize(entry.element, start)
        if name == "constructor" and entry.callable:
            label = ".constructor.constructor" if atom.by_constructor else "function-constructor"
            made = known("Function", label)
            self.origin(made, atom, "`constructor` of a constructor is `Function`", start, end)
            return of(made)
        if atom.label is not None and atom.path not in self.catalogue.entries:
            path = atom.path if atom.path.count(".") > _MAX_MEMBERS else f"{atom.path}.{name}"
            return of(known(path, atom.label))
        if atom.path == "globalThis":
            stored = self.global_value(name)
            if stored:
                return stored
        inherited = BOTTOM
        if not entry.others.startswith("deny") or name in _INHERITED:
            inherited = self.get_builtin(entry.prototype, name, start, end)
        if inherited and (name in _INHERITED or name == "constructor" or entry.others not in {"deny", "host"}):
            return inherited
        match entry.others:
            case "deny" if self.allowed_read(atom.path, name):
                return of(ANY_STRING)
            case "deny":
                made = known(f"{atom.path}.{name}", f"{atom.path}.{name}" if atom.path == "process" else atom.path)
                self.origin(made, atom, f"`{name}` is read from `{atom.path}`", start, end)
                return of(made)
            case "host":
                return of(host(name if atom.path == "globalThis" else f"{atom.path}.{name}"))
            case "undefined":
                return BOTTOM
            case others if others.startswith("deny:"):
                made = known(f"{atom.path}.{name}", others[5:])
                self.origin(made, atom, f"`{name}` is read from `{atom.path}`", start, end)
                return of(made)
            case others:
                return self.materialize(others, start)

    def relabelled(self, value: Value) -> Value:
        """Return ``Function`` under the label of the road that read ``constructor`` twice."""
        if not any(type(atom) is Known and atom.label == "function-constructor" for atom in value):
            return value
        made = known("Function", ".constructor.constructor")
        for atom in value:
            if type(atom) is Known and atom.label == "function-constructor":
                self.origins.setdefault(made, self.origins.get(atom, ()))
        kept = frozenset(a for a in value if not (type(a) is Known and a.label == "function-constructor"))
        return kept | of(made)

    def _get_from_object(self, target: HeapObject, name: str, this: Value, start: int, end: int) -> Value:
        """Walk the prototype chain; where it may branch, every branch counts."""
        result: Value = BOTTOM
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            current.readers.add(self.unit)
            if current.escaped:
                result = join(result, of(U1))
            found, certain = self._own(current, name, this, start, end)
            result = join(result, found)
            if certain:
                continue
            if not current.prototype:
                builtin = self.get_builtin(PROTOTYPES.get(current.kind, "Object.prototype"), name, start, end)
                result = join(result, builtin)
            for parent in current.prototype:
                if not isinstance(parent, HeapObject):
                    if parent is not NULL:
                        result = join(result, self.get_from(parent, name, this, start, end))
                elif parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return result

    def _own(self, target: HeapObject, name: str, this: Value, start: int, end: int) -> tuple[Value, bool]:
        """Return what an object itself has under a name, and whether it certainly has it."""
        result: Value = target.elements if target.extensible else BOTTOM
        certain = False
        if target.kind == "proxy" and "@@target" in target.properties:
            result = join(result, self.get(target.properties["@@target"], name, start, end))
            return result, False
        if name in target.getters:
            result = join(result, self.call(target.getters[name], this, (), start, end))
            certain = True
        if name in target.properties:
            result = join(result, target.properties[name])
            certain = name not in target.uncertain
            if name == "name" and "@@name" in target.properties:
                result, certain = join(result, target.properties["@@name"]), True
        elif name == "prototype" and target.kind == "function":
            return of(self.prototype_object(target)), True
        elif target.kind in {"array", "arguments"}:
            if name == "length":
                return (of(number(len(target.items))) if target.exact else V_NUMBER), True
            if name.isdigit():
                result = join(result, target.elements)
                if len(name) <= 5 and int(name) < len(target.items):  # noqa: PLR2004 - MAX_ITEMS has fewer digits
                    result = join(result, target.items[int(name)] if target.exact else target.contents())
                return result or V_UNDEFINED, True
        elif name == "name" and target.unit is not None and target.kind == "function":
            return (of(target.unit.name) if target.unit.name else V_STRING), True
        elif name == "name" and "@@name" in target.properties:
            return target.properties["@@name"], True
        elif name == "length" and target.kind == "function" and target.unit is not None:
            return V_NUMBER, True
        return result, certain

    def prototype_object(self, function: HeapObject) -> HeapObject:
        """Return the ``prototype`` object of a payload function."""
        made = self.allocate("object", function.start, "prototype")
        made.properties.setdefault("constructor", of(function))
        return made

    def prototype_of(self, atom: Atom) -> Value:
        """Return ``Object.getPrototypeOf`` of an atom."""
        if isinstance(atom, HeapObject):
            return atom.prototype or of(known(PROTOTYPES.get(atom.kind, "Object.prototype")))
        if type(atom) is Known:
            entry = self.catalogue.get(atom.path)
            return of(known(entry.prototype)) if entry.prototype else of(NULL)
        if type(atom) is str or atom in STRING_UNKNOWNS:
            return of(known("String.prototype"))
        if type(atom) is Primitive:
            return of(known(_PRIMITIVES.get(atom.type, "Object.prototype")))
        return of(U1)

    def get_element(self, atom: Atom, start: int) -> Value:
        """Return a read by a numeric key: the join of the elements."""
        if isinstance(atom, HeapObject):
            atom.readers.add(self.unit)
            result = join(atom.contents(), of(U1) if atom.escaped else V_UNDEFINED)
            for parent in atom.prototype:
                if type(parent) is Known:
                    result = join(result, self.get_element(parent, start))
            return result
        if type(atom) is Known:
            return self.materialize(self.catalogue.get(atom.path).element, start)
        if type(atom) is str or atom in STRING_UNKNOWNS:
            return V_STRING if type(atom) is str else of(atom)
        if isinstance(atom, Host):
            return of(host(f"{atom.path}.0"))
        if atom is SELECTED:
            return BOTTOM
        if atom is DATA or atom is U0 or atom is W0:
            return of(atom)
        return BOTTOM if type(atom) is Primitive or atom in _PRIMITIVE_UNKNOWNS else of(U1)

    def get_unknown(self, atom: Atom, start: int, end: int) -> Value:
        """Return a read by a key that may be anything; d falls by one."""
        if atom is SELECTED:
            return BOTTOM
        self.unresolved(atom, start, end)
        if isinstance(atom, HeapObject):
            return self._get_unknown_from_object(atom, start, end)
        if type(atom) is Known:
            return self._get_unknown_from_known(atom, start, end)
        if type(atom) is Primitive and atom.type in {"undefined", "object"}:
            return BOTTOM
        if atom is DATA:
            return of(DATA, U1)
        if type(atom) is str or atom in STRING_UNKNOWNS:
            return of(U1, ANY_STRING)
        if isinstance(atom, Host) or atom is U2 or type(atom) is Primitive or atom in _PRIMITIVE_UNKNOWNS:
            return of(U1)
        made = U0 if atom is U0 or atom is CONSTRUCTOR1 else BUILT if atom is BUILT else W0
        self.origin(made, atom, "read by a key that cannot be resolved", start, end)
        return of(made)

    def _get_unknown_from_object(self, target: HeapObject, start: int, end: int) -> Value:
        result: Value = BOTTOM
        pending, seen = [target], {target}
        while pending:
            current = pending.pop()
            current.readers.add(self.unit)
            result = join(result, current.everything())
            for getter in current.getters.values():
                result = join(result, self.call(getter, of(target), (), start, end))
            if current.callable or current.kind == "prototype":
                self.origin(U0, None, "read from a function by a key that cannot be resolved", start, end)
                result = join(result, of(U0))
            elif not current.prototype or current.escaped:
                result = join(result, of(U1))
            for parent in current.prototype:
                if not isinstance(parent, HeapObject):
                    result = join(result, self.get_unknown(parent, start, end))
                elif parent not in seen:
                    seen.add(parent)
                    pending.append(parent)
        return result

    def _get_unknown_from_known(self, atom: Known, start: int, end: int) -> Value:
        entry = self.catalogue.get(atom.path)
        match entry.unresolved:
            case "harmless":
                return self.materialize(entry.others if entry.others != "undefined" else "text", start) | of(U1)
            case "dynamic-key":
                self.report("dynamic-key", 1, start, end, atom, f"`{atom.path}` is read by a key that cannot be resolved")
                return of(U0)
            case "function":
                pass
            case _ if not entry.callable and atom.path != "Function.prototype":
                if self.strict and any(member.label for member in entry.members.values()):
                    self.report("dynamic-key", 1, start, end, atom, f"`{atom.path}` is read by a key that cannot be resolved")
                return of(U1)
        self.origin(U0, None, "read from a function by a key that cannot be resolved", start, end)
        return of(U0)

    def items_of(self, value: Value) -> list[Value] | None:
        """Return the items of an exact array, or a constant's characters, if that is all the value holds."""
        if len(value) != 1:
            return None
        (atom,) = value
        if type(atom) is str and len(atom) <= MAX_ITEMS:
            return [of(character) for character in atom]
        if isinstance(atom, HeapObject) and atom.kind == "array" and not atom.escaped:
            atom.readers.add(self.unit)
            if atom.exact and len(atom.items) <= MAX_ITEMS:
                return atom.items
        return None

    def leak(self, value: Value, flow: Flow, start: int, end: int) -> None:
        """Treat a value as handed to code that is not modelled: capabilities are used, objects are no longer known."""
        self.use(value, flow, start, end)
        for atom in value:
            if isinstance(atom, HeapObject):
                self.escape_object(atom)
