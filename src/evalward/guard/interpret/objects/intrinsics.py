"""The intrinsic prototypes: of each kind of object and of primitives (ECMA-262 §6.1.7.4)."""

from __future__ import annotations

from evalward.guard.domain.atoms import ANY_BIGINT, ANY_BOOLEAN, ANY_NUMBER, ANY_SYMBOL, known

PROTOTYPES = {
    "object": "Object.prototype",
    "array": "Array.prototype",
    "arguments": "Object.prototype",
    "function": "Function.prototype",
    "class": "Function.prototype",
    "native": "Function.prototype",
    "resolver": "Function.prototype",
    "rejecter": "Function.prototype",
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
PRIMITIVE_PROTOTYPES = {
    "number": "Number.prototype",
    "boolean": "Boolean.prototype",
    "symbol": "Symbol.prototype",
}
UNKNOWN_PRIMITIVE_PROTOTYPES = {
    ANY_NUMBER: "Number.prototype",
    ANY_BOOLEAN: "Boolean.prototype",
    ANY_BIGINT: "BigInt.prototype",
    ANY_SYMBOL: "Symbol.prototype",
}
ELEMENT_PROTOTYPE = known("Element", by_constructor=True)
PROTOTYPE_OF_HOST = known("HostInterface.prototype")
OF_LANGUAGE = frozenset(
    {
        *(
            "Array",
            "ArrayBuffer",
            "BigInt",
            "Boolean",
            "DataView",
            "Date",
            "Error",
            "FinalizationRegistry",
            "Function",
        ),
        *(
            "Intl",
            "IntlFormat",
            "Iterator",
            "Map",
            "Number",
            "Object",
            "Promise",
            "Proxy",
            "RegExp",
            "Set",
            "String",
        ),
        *("Symbol", "Uint8Array", "WeakMap", "WeakRef", "WeakSet"),
    }
)
"""Constructors of the language: no host keeps what they make unless it is given that."""
