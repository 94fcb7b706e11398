"""The atoms of abstract values: constants, unknowns, named objects (guard.md §2).

A value is a ``frozenset`` of atoms. The empty set is *bottom*: nothing reaches this place yet. A join is a union. A
JavaScript string constant is a Python ``str``; every other atom is an interned object that compares by identity. The
``distance`` of an unknown is d(v) of guard.md §2: the least number of property reads that may lead to a function
constructor.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from evalward.guard.constructs import global_object
from evalward.guard.syntax.digits import number_text


class Unknown:
    """An atom that stands for every value of some class; ``distance`` is d(v) of guard.md §2."""

    __slots__ = ("distance", "name")

    def __init__(self, name: str, distance: int) -> None:
        self.name = name
        self.distance = distance

    def __repr__(self) -> str:
        return self.name


class Primitive:
    """A known primitive other than a string; ``text`` is what ToString gives, ``number`` what ToNumber gives.

    ``value`` holds it and nothing else.
    """

    __slots__ = ("number", "text", "truthy", "type", "value")

    def __init__(self, type_: str, text: str, number: float, *, truthy: bool) -> None:
        self.type = type_
        self.text = text
        self.number = number
        self.truthy = truthy
        self.value: Value = frozenset((self,))

    def __repr__(self) -> str:
        return self.text


class Known:
    """An object that the catalogue names. ``label`` is set when the object itself is a denied capability.

    ``path`` is its canonical name (``process``, ``Array.prototype.map``); a capability that is reached another way
    (``[].constructor.constructor``) keeps its path and takes the label of that way. ``by_constructor`` marks a
    constructor that was itself read as ``.constructor``.
    """

    __slots__ = ("by_constructor", "label", "path")

    def __init__(self, path: str, label: str | None, *, by_constructor: bool) -> None:
        self.path = path
        self.label = label
        self.by_constructor = by_constructor

    def __repr__(self) -> str:
        if self is PLAIN_ELEMENT or self is PLAIN_TEXT:
            return "<Element without script>" if self is PLAIN_ELEMENT else "<Text without code>"
        return f"<{self.path}>"


class Host:
    """An object of the host that no catalogue names, by the path on which it was reached."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<host {self.path}>"


class ObjectAtom:
    """An object of the heap, as an atom; ``heap.HeapObject`` is the only kind of it.

    Values hold objects and objects hold values. This type lets a value name its objects without knowing the heap.
    """

    __slots__ = ()


Atom: TypeAlias = str | Unknown | Primitive | Known | Host | ObjectAtom
Value: TypeAlias = frozenset[Atom]

# An unknown value that may be a function constructor (d = 0).
UNKNOWN_CONSTRUCTOR = Unknown("UNKNOWN_CONSTRUCTOR", 0)
# An unknown value read twice by unresolved keys from data; as callable as a function constructor, but
# ordinary code passes such values on.
UNKNOWN_NESTED_DATA = Unknown("UNKNOWN_NESTED_DATA", 0)
# An unknown value that may be a function made from text.
FUNCTION_FROM_TEXT = Unknown("FUNCTION_FROM_TEXT", 0)
# What `new data.constructor(text)` gives: a copy of the data or, if that is a function, one that is made from the text.
COPY_OR_FUNCTION = Unknown("COPY_OR_FUNCTION", 0)
# An unknown value that may be callable (d = 1): the result of havoc.
UNKNOWN = Unknown("UNKNOWN", 1)
# An unknown plain object or primitive (d = 2).
UNKNOWN_PLAIN = Unknown("UNKNOWN_PLAIN", 2)
# Plain data that derives from arg, JSON or the page.
TAINTED_DATA = Unknown("TAINTED_DATA", 2)
# `.constructor` of plain data: one more read builds functions.
CONSTRUCTOR_OF_DATA = Unknown("CONSTRUCTOR_OF_DATA", 1)
# `.constructor` of a value that may be callable.
CONSTRUCTOR_OF_UNKNOWN = Unknown("CONSTRUCTOR_OF_UNKNOWN", 0)
CONSTRUCTORS_OF_UNKNOWN: Final = frozenset({CONSTRUCTOR_OF_DATA, CONSTRUCTOR_OF_UNKNOWN})
ANY_STRING = Unknown("ANY_STRING", 2)
# A string that derives from arg, JSON or the page.
TAINTED_STRING = Unknown("TAINTED_STRING", 2)
# A string that the payload decodes from its own text: it may spell any name.
DECODED_STRING = Unknown("DECODED_STRING", 2)
# A string that the payload concatenates or decodes from parts of other origin.
COMPOSED_STRING = Unknown("COMPOSED_STRING", 2)
# One character of a decoded or composed string.
COMPOSED_CHARACTER = Unknown("COMPOSED_CHARACTER", 2)
# One character of a tainted string: no inherited name has one letter.
TAINTED_CHARACTER = Unknown("TAINTED_CHARACTER", 2)
# A decoded or composed string with a prefix that no dangerous name has.
PREFIXED_STRING = Unknown("PREFIXED_STRING", 2)
# An unknown string, not decoded by the payload, with a prefix that no dangerous name has.
HARMLESS_STRING = Unknown("HARMLESS_STRING", 2)
# An unknown string that holds active markup.
ACTIVE_MARKUP = Unknown("ACTIVE_MARKUP", 2)
# A mark of an unknown string: the payload wrote letters of the scheme `javascript` in it.
SCHEME_LETTERS = Unknown("SCHEME_LETTERS", 2)
# A mark of an unknown string: the payload wrote the colon that may end that scheme.
SCHEME_COLON = Unknown("SCHEME_COLON", 2)
# The `prototype` of a tainted selection.
TAINTED_SELECTION_PROTOTYPE = Unknown("TAINTED_SELECTION_PROTOTYPE", 1)
# The result of a read by a tainted key (prototype pollution).
TAINTED_SELECTION = Unknown("TAINTED_SELECTION", 1)
# The member of a host object that is read by a name the payload decodes.
OPAQUE_HOST_MEMBER = Unknown("OPAQUE_HOST_MEMBER", 1)
# What the host made of the payload's own text, and may give back.
HOST_HELD_TEXT = Unknown("HOST_HELD_TEXT", 1)
ANY_NUMBER = Unknown("ANY_NUMBER", 2)
ANY_BOOLEAN = Unknown("ANY_BOOLEAN", 2)
ANY_BIGINT = Unknown("ANY_BIGINT", 2)
ANY_SYMBOL = Unknown("ANY_SYMBOL", 2)

NAN = float("nan")
UNDEFINED = Primitive("undefined", "undefined", NAN, truthy=False)
NULL = Primitive("object", "null", 0.0, truthy=False)
TRUE = Primitive("boolean", "true", 1.0, truthy=True)
FALSE = Primitive("boolean", "false", 0.0, truthy=False)

# Any object of the host: too many paths, or too long a path.
ANY_HOST_OBJECT = Host("host")

BOTTOM: Value = frozenset()
V_UNDEFINED: Value = frozenset({UNDEFINED})
V_UNKNOWN: Value = frozenset({UNKNOWN})
V_TAINTED_DATA: Value = frozenset({TAINTED_DATA})
V_ANY_STRING: Value = frozenset({ANY_STRING})
V_ANY_NUMBER: Value = frozenset({ANY_NUMBER})
V_ANY_BOOLEAN: Value = frozenset({ANY_BOOLEAN})

SPELLS_ANY_NAME: Value = frozenset({DECODED_STRING, COMPOSED_STRING})  # these may spell any name
SCHEME_MARKS: Value = frozenset({SCHEME_LETTERS, SCHEME_COLON})
STRING_UNKNOWNS = (
    SPELLS_ANY_NAME
    | SCHEME_MARKS
    | frozenset(
        {
            ANY_STRING,
            TAINTED_STRING,
            ACTIVE_MARKUP,
            COMPOSED_CHARACTER,
            TAINTED_CHARACTER,
            PREFIXED_STRING,
            HARMLESS_STRING,
        }
    )
)
PRIMITIVE_UNKNOWNS = STRING_UNKNOWNS | {ANY_NUMBER, ANY_BOOLEAN, ANY_BIGINT, ANY_SYMBOL}
MARKERS = frozenset(
    {TAINTED_SELECTION, TAINTED_SELECTION_PROTOTYPE, OPAQUE_HOST_MEMBER}
)  # these only mark the other atoms of a value
NEVER_CALLABLE: Value = PRIMITIVE_UNKNOWNS | MARKERS
_numbers: dict[str, Primitive] = {}
_by_value: dict[float, Primitive] = {}  # the same atoms: to make the text of a number is expensive
_known: dict[tuple[str, str | None, bool], Known] = {}
_pinned: dict[tuple[str, str | None, bool], Known] = {}  # never evicted
_hosts: dict[str, Host] = {}
_INTERN_CAP = 4_096
_HOST_PATH_CAP = 4
_HOST_NAME_CAP = 120


def number(value: float) -> Primitive:
    """Return the atom of a number; minus zero is zero."""
    atom = _by_value.get(value)
    if atom is None:
        atom = _number(value)
        if len(_by_value) >= _INTERN_CAP:
            _by_value.clear()
        _by_value[value] = atom
    return atom


def _number(value: float) -> Primitive:
    text = number_text(value + 0.0)
    atom = _numbers.get(text)
    if atom is None:
        atom = Primitive("number", text, float(value), truthy=bool(value) and value == value)  # noqa: PLR0124
        if len(_numbers) >= _INTERN_CAP:
            _numbers.clear()
        _numbers[text] = atom
    return atom


def known(path: str, label: str | None = None, *, by_constructor: bool = False) -> Known:
    """Return the atom of a catalogued object; a full table of interned paths is cleared."""
    key = (path, label, by_constructor)
    atom = _known.get(key)
    if atom is None:
        if len(_known) >= _INTERN_CAP:
            _known.clear()
            _known.update(_pinned)
        atom = _known.setdefault(key, Known(path, label, by_constructor=by_constructor))
    return atom


def pinned(path: str, label: str | None) -> Known:
    """Return the atom of an object that the catalogue lists: it is never evicted."""
    atom = known(path, label)
    return _pinned.setdefault((path, label, False), atom)


PLAIN_ELEMENT: Final = Known("Element", None, by_constructor=False)
"""An element that is certainly no script: one that the payload makes by another name, the body of the page."""


PLAIN_TEXT: Final = Known("Element", None, by_constructor=False)
"""A text node that the payload makes of a text that is no code."""


def is_prototype(atom: Atom) -> bool:
    """Whether an atom is the prototype of a built-in class or of one of the page's interfaces."""
    return type(atom) is Known and (
        atom.path.endswith(".prototype") or (atom.path == "Element" and atom.by_constructor)
    )


def symbol(name: str) -> Primitive:
    """Return the atom of a well-known symbol; as a property key it reads ``@@name``."""
    atom = _numbers.get(f"@@{name}")
    if atom is None:
        atom = _numbers.setdefault(f"@@{name}", Primitive("symbol", f"@@{name}", NAN, truthy=True))
    return atom


def host(path: str) -> Host:
    """Return the atom of an object that only the host knows; deep paths share one atom."""
    if (
        path.startswith("host.")
        or path == "host"
        or path.count(".") >= _HOST_PATH_CAP
        or len(path) >= _HOST_NAME_CAP
    ):
        return ANY_HOST_OBJECT
    atom = _hosts.get(path)
    if atom is None:
        if len(_hosts) >= _INTERN_CAP:
            _hosts.clear()
        atom = _hosts.setdefault(path, Host(path))
    return atom


def of(*atoms: Atom) -> Value:
    """Return the value that holds just these atoms."""
    return frozenset(atoms)


V_GLOBAL: Value = of(known("globalThis", global_object.LABEL))
