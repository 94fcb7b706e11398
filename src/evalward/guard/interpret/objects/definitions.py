"""``Object.defineProperty``: values, getters and setters of a descriptor (ECMA-262 §20.1.2.4)."""

from __future__ import annotations

from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.values import (
    BOTTOM,
    MARKS,
    UNDEFINED,
    Known,
    Primitive,
    Value,
    join,
    of,
)
from evalward.guard.interpret.objects.catalogued import ELEMENT_PROTOTYPE
from evalward.guard.interpret.objects.writes import Writes

_OF_FUNCTIONS = frozenset({"prototype", "name", "length"})


class Definitions(Writes):
    """Definitions of properties."""

    def define(self, target: Value, key: Value, descriptor: Value, start: int, end: int) -> None:
        """Model ``Object.defineProperty``: the value, the getter and the setter of a descriptor."""
        resolved = self.key(key, start, end)
        value = self.get(descriptor, "value", start, end)
        getter, setter = self.get(descriptor, "get", start, end), self.get(descriptor, "set", start, end)
        callables = frozenset(
            atom for atom in getter if self.may_be_callable(atom) or isinstance(atom, HeapObject)
        )
        setters = frozenset(
            atom for atom in setter if self.may_be_callable(atom) or isinstance(atom, HeapObject)
        )
        self.use(callables | setters, Flow.CALLBACK, start, end)
        if "prepareStackTrace" in resolved.names and any(
            type(atom) is Known and atom.path == "Error" for atom in target
        ):
            self.report("call-sites", 0, start, end, None, "`prepareStackTrace` is defined")
        for atom in target:
            if type(atom) is Known and (atom.path.endswith("prototype") or atom is ELEMENT_PROTOTYPE):
                self.report("prototype-tampering", 0, start, end, atom, f"`{atom.path}` is written")
            if type(atom) is Known and atom.path == "globalThis":
                given = join(value, self.call(callables, of(atom), (), start, end))
                for name in resolved.names if given - {UNDEFINED} else ():
                    self.set(of(atom), name, given, start, end)
            if type(atom) is Primitive or type(atom) is str:
                continue  # it throws
            if not isinstance(atom, HeapObject):
                if type(atom) is not Known:
                    given = join(value, self.call(callables, of(atom), (), start, end))
                    for name in resolved.names if given - {UNDEFINED} else ():
                        self._set_on(atom, name, given, start, end)
                    if atom in MARKS and resolved.unknown:
                        self._set_dynamic(atom, given, start, end, numeric=False)
                self.leak(value | callables | setters, Flow.PROPERTY, start, end)
                if type(atom) is Known and atom.path != "globalThis":
                    if resolved.unknown or resolved.numeric:
                        self.expect_removals()
                    given = join(value, self.call(callables, of(atom), (), start, end))
                    for name in resolved.names:
                        self.put(self.patches, f"{atom.path}.{name}", given)
                continue
            if atom.kind == "proxy":
                inner = frozenset(a for a in atom.properties.get("@@target", BOTTOM) if a is not atom)
                self.define(inner, key, descriptor, start, end)
                self.trapped(atom, "defineProperty", (key, descriptor), start, end)
            if resolved.unknown or resolved.numeric:
                self._set_dynamic(atom, value, start, end, numeric=not resolved.unknown)
                self.leak(callables | setters, Flow.PROPERTY, start, end)
                if callables:
                    self.put_element(atom, self.call(callables, of(atom), (), start, end))
            for name in resolved.names:
                if callables:
                    self.put_accessor(atom, name, callables)
                if setters:
                    self.put_accessor(atom, name, setters, setter=True)
                kept = BOTTOM
                if atom.kind == "function" and name in _OF_FUNCTIONS and UNDEFINED in value:
                    kept = self.get(
                        of(atom), name, start, end
                    )  # a descriptor without a value leaves it alone
                self._set_on(atom, name, join(value, kept), start, end)
