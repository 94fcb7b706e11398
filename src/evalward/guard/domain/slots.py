"""Property keys that are not strings: symbols, private names, internal slots, flags (guard.md §2)."""

from __future__ import annotations

from typing import Final

# Well-known symbols (ECMA-262 §6.1.5.1).
SYMBOL_ITERATOR: Final = "@@iterator"
"""%Symbol.iterator% (ECMA-262 §6.1.5.1)."""
SYMBOL_ASYNC_ITERATOR: Final = "@@asyncIterator"
"""%Symbol.asyncIterator%."""
SYMBOL_TO_PRIMITIVE: Final = "@@toPrimitive"
"""%Symbol.toPrimitive%."""
SYMBOL_HAS_INSTANCE: Final = "@@hasInstance"
"""%Symbol.hasInstance%."""
SYMBOL_SPECIES: Final = "@@species"
"""%Symbol.species%."""
SYMBOL_TO_STRING_TAG: Final = "@@toStringTag"
"""%Symbol.toStringTag%."""
SYMBOL_DISPOSE: Final = "@@dispose"
"""%Symbol.dispose%."""
SYMBOL_ASYNC_DISPOSE: Final = "@@asyncDispose"
"""%Symbol.asyncDispose%."""

# Internal slots of objects (ECMA-262 §6.1.7.2).
PROXY_TARGET: Final = "@@target"
"""[[ProxyTarget]], also the object that a wrapper stands for."""
PROXY_HANDLER: Final = "@@handler"
"""[[ProxyHandler]]."""
PRIMITIVE_VALUE: Final = "@@primitive"
"""[[StringData]], [[NumberData]] and their like: what ToPrimitive of the object gives."""
ENTRY_KEYS: Final = "@@keys"
"""The keys of [[MapData]], and of a list of entries."""
RETURNED: Final = "@@returned"
"""What a generator returns when it completes."""
FUNCTION_NAME: Final = "@@name"
"""[[InitialName]]: what `name` gives."""
ADDED_NAMES: Final = "@@names"
"""The names of properties that were added by unknown keys."""
CONSTRUCTOR: Final = "@@constructor"
"""The constructor method of a class; among the patches: functions stored as `constructor`."""
FIELDS: Final = "@@fields"
"""[[Fields]]: the unit that initialises the fields of instances."""
DECODED_TEXT: Final = "@@text"
"""The text that the bytes of a buffer decode to."""
BUFFER_VIEWS: Final = "@@views"
"""The views over the same buffer."""
BLOB_MARKUP: Final = "@@markup"
"""The active markup of a Blob or an object URL."""
KEPT_ARGUMENTS: Final = "@@kept"
"""What an object of the host keeps of the call that made it, under names that no list has."""
WRAPPED_FUNCTION: Final = "@@function"
"""The function that a compiler's helper wraps."""

# Doubts about an array as a whole, among its ``uncertain`` names.
GROWN: Final = "@@grown"
"""Elements were added by writes, which an array that is not extensible ignores."""
FIXED: Final = "@@fixed"
"""It was frozen, sealed or made not extensible at some time."""

# Changes that a payload may have made to built-in objects: flags among `patches`.
MAY_BE_PROXIES: Final = "@@proxies"
"""Unknown objects may be proxies of the payload."""
MAY_BE_REMOVED: Final = "@@removed"
"""The payload deletes members of built-in objects."""
MAY_HAVE_OWN_CALL: Final = "@@calls"
"""A function may have a `call` or `apply` of its own."""
MAY_HAVE_ANY_RECEIVER: Final = "@@receivers"
"""Methods may be called on objects that do not have them."""
MAY_HAVE_FOREIGN_CONSTRUCTOR: Final = "@@constructors"
"""A host object may have a `constructor` that the payload read elsewhere."""
MAY_HAVE_DELETED_CONSTRUCTOR: Final = "@@deleted"
"""An object may have lost its own `constructor`."""
MAY_HOLD_FUNCTIONS: Final = "@@stored"
"""The payload stored a function in data."""
MAY_HAND_ON_RESULTS: Final = "@@results"
"""A generator hands on results of an iterator of the payload as they are (`yield*`)."""
MAY_SELECT_CONSTRUCTOR: Final = "@@selected"
"""The payload wrote by a key that may be `constructor`."""
LENT_OBJECTS: Final = "@@lent"
"""Objects of the host that the payload gave to other code: what that gives back may be one of them."""
MAY_HOLD_CODE: Final = "@@code"
"""The payload gave a text that is code to an element that it made."""
MAY_LOCATE_SCRIPTS: Final = "@@scripts"
"""A driver's handles may be of script elements."""
EMITTED_ARGUMENTS: Final = "@@emitted"
"""What the payload emits with events of an application."""
EVENT_LISTENERS: Final = "@@listeners"
"""The listeners that the payload adds to an application."""
CUSTOM_ELEMENTS: Final = "@@elements"
"""Instances of the payload's own classes of elements, which the page makes."""
ON_ANY_HOST: Final = "@@on"
"""What the payload defined under a name on an object of the host, which has other paths, too."""
ON_PERHAPS_A_HOST: Final = "@@perhaps"
"""The same for an object that may be the payload's own, as where a bundler defines what a module exports."""
SETTER_ON_ANY_HOST: Final = "@@set"
"""A setter that the payload defined under a name on an object of the host."""

# Prefixes of keys, and the key of any symbol.
PRIVATE_PREFIX: Final = "@@#"
"""Begins the key of a private name: no string key is one."""
SYMBOL_PREFIX: Final = "@@"
"""Begins every key that is no string: symbols, private names, internal slots."""
REGISTERED_PREFIX: Final = "@@ "
"""Begins the key of a symbol of the payload (`Symbol(…)`, `Symbol.for(…)`)."""
ANY_OWN_SYMBOL: Final = "@@ any"
"""The key of a symbol of the payload whose description is not known."""

_WELL_KNOWN = frozenset(
    f"@@{name}"
    for name in [
        "asyncDispose",
        "asyncIterator",
        "dispose",
        "hasInstance",
        "isConcatSpreadable",
        "iterator",
        "match",
        "matchAll",
        "replace",
        "search",
        "species",
        "split",
        "toPrimitive",
        "toStringTag",
        "unscopables",
    ]
)


def names_property(name: str) -> bool:
    """Whether a key names a property, by a string or a symbol (ECMA-262 §6.1.5.1); others are internal slots."""
    return name[:2] != SYMBOL_PREFIX or name[:3] == REGISTERED_PREFIX or name in _WELL_KNOWN
