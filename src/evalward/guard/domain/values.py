"""Abstract values: bounded sets of atoms (guard.md §2).

A value is a ``frozenset`` of atoms; the empty set is *bottom* (nothing reaches here yet) and a join is a union.
A JavaScript string constant is a Python ``str``; every other atom is an interned object that compares by identity.

The unknown atoms carry the distance d of guard.md §2, the least number of property reads that may lead to a
function constructor: ``U2`` (a plain object or primitive), ``U1`` (may be callable), ``U0`` (may be a function
constructor). ``W0`` is a U0 that was read from data rather than from a certain function; it is as callable, but
handing it on is how ordinary code passes ``table[row][column]`` around. ``BUILT`` may be a function made from text.
``DATA`` is a U2 that derives from ``arg``, JSON or the page; ``TEXT`` is the string that derives from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Union

from evalward.guard.domain.decodable import are_letters, begins_evaluation, begins_name, is_accumulated
from evalward.guard.markup import is_active
from evalward.guard.syntax.digits import number_text

if TYPE_CHECKING:
    from evalward.guard.domain.heap import HeapObject

NAMESPACES = frozenset({"Object", "Array", "Number", "Math"})  # whose functions every engine has
MAX_STRINGS = 24
MAX_NUMBERS = 24
MAX_OBJECTS = 48
MAX_HOSTS = 12
MAX_STRING_LENGTH = 16_384


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

    ``path`` is its canonical name (``process``, ``Array.prototype.map``); a capability reached by another road
    (``[].constructor.constructor``) keeps its path and takes the label of the road. ``by_constructor`` marks a
    constructor that was itself read as ``.constructor``.
    """

    __slots__ = ("by_constructor", "label", "path")

    def __init__(self, path: str, label: str | None, *, by_constructor: bool) -> None:
        self.path = path
        self.label = label
        self.by_constructor = by_constructor

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Host:
    """An object of the host that no catalogue names, by the path on which it was reached."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<host {self.path}>"


Atom: TypeAlias = Union[str, Unknown, Primitive, Known, Host, "HeapObject"]
Value: TypeAlias = frozenset[Atom]

U0 = Unknown("U0", 0)
W0 = Unknown("W0", 0)
BUILT = Unknown("BUILT", 0)
U1 = Unknown("U1", 1)
U2 = Unknown("U2", 2)
DATA = Unknown("DATA", 2)
CONSTRUCTOR1 = Unknown("CONSTRUCTOR1", 1)  # `.constructor` of plain data: one more read builds functions
CONSTRUCTOR0 = Unknown("CONSTRUCTOR0", 0)  # `.constructor` of something that may be callable
ANY_STRING = Unknown("ANY_STRING", 2)
TEXT = Unknown("TEXT", 2)
DECODED = Unknown("DECODED", 2)  # a string that the payload decodes from its own text: it may spell any name
COMPOSED = Unknown("COMPOSED", 2)  # one that it puts together or decodes, of what may come from elsewhere
CHARACTER = Unknown("CHARACTER", 2)  # one character of such a string
LETTER = Unknown("LETTER", 2)  # one character of a text from outside: it names nothing that is inherited
PREFIXED = Unknown("PREFIXED", 2)  # such a string behind a beginning that no name of `spelling` has
ELSEWHERE = Unknown(
    "ELSEWHERE", 2
)  # an unknown string behind such a beginning, that the payload did not decode
ACTIVE = Unknown("ACTIVE", 2)  # a string that is not known but holds active markup
SELECTED_PROTOTYPE = Unknown("SELECTED_PROTOTYPE", 1)  # the `prototype` of that
SELECTED = Unknown("SELECTED", 1)  # what a key from `arg`, JSON or the page selects (prototype pollution)
HIDDEN = Unknown("HIDDEN", 1)  # what a name that the payload decodes itself selects from the host
HELD = Unknown("HELD", 1)  # what the host made of the payload's own text, and may give back
ANY_NUMBER = Unknown("ANY_NUMBER", 2)
ANY_BOOLEAN = Unknown("ANY_BOOLEAN", 2)
ANY_BIGINT = Unknown("ANY_BIGINT", 2)
ANY_SYMBOL = Unknown("ANY_SYMBOL", 2)

NAN = float("nan")
UNDEFINED = Primitive("undefined", "undefined", NAN, truthy=False)
NULL = Primitive("object", "null", 0.0, truthy=False)
TRUE = Primitive("boolean", "true", 1.0, truthy=True)
FALSE = Primitive("boolean", "false", 0.0, truthy=False)

ANY_HOST = Host("host")  # any object of the host: too many paths, or too long a one

BOTTOM: Value = frozenset()
V_UNDEFINED: Value = frozenset({UNDEFINED})
V_U1: Value = frozenset({U1})
V_DATA: Value = frozenset({DATA})
V_STRING: Value = frozenset({ANY_STRING})
V_NUMBER: Value = frozenset({ANY_NUMBER})
V_BOOLEAN: Value = frozenset({ANY_BOOLEAN})

SPELLING: Value = frozenset({DECODED, COMPOSED})  # what may spell any name
STRING_UNKNOWNS = SPELLING | frozenset({ANY_STRING, TEXT, ACTIVE, CHARACTER, LETTER, PREFIXED, ELSEWHERE})
PRIMITIVE_UNKNOWNS = STRING_UNKNOWNS | {ANY_NUMBER, ANY_BOOLEAN, ANY_BIGINT, ANY_SYMBOL}
MARKS = frozenset({SELECTED, SELECTED_PROTOTYPE, HIDDEN})  # what only marks what stands beside it
NEVER_CALLED: Value = PRIMITIVE_UNKNOWNS | MARKS

_DROPS_TEXTS = SPELLING | frozenset({ANY_STRING, TEXT, ACTIVE})  # what constants are dropped for

_ABSORBING: Value = SPELLING | frozenset({ANY_HOST, ANY_STRING, TEXT, ANY_NUMBER})
_numbers: dict[str, Primitive] = {}
_by_value: dict[float, Primitive] = {}  # the same atoms: the text of a number is costly
_known: dict[tuple[str, str | None, bool], Known] = {}
_pinned: dict[tuple[str, str | None, bool], Known] = {}  # those of them that stay
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
    """Return the atom of a catalogued object; ``path`` is interned until the table is full, then made anew."""
    key = (path, label, by_constructor)
    atom = _known.get(key)
    if atom is None:
        if len(_known) >= _INTERN_CAP:
            _known.clear()
            _known.update(_pinned)
        atom = _known.setdefault(key, Known(path, label, by_constructor=by_constructor))
    return atom


def pinned(path: str, label: str | None) -> Known:
    """Return the atom of an object that the catalogue itself lists: it is never made anew."""
    atom = known(path, label)
    return _pinned.setdefault((path, label, False), atom)


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
        return ANY_HOST
    atom = _hosts.get(path)
    if atom is None:
        if len(_hosts) >= _INTERN_CAP:
            _hosts.clear()
        atom = _hosts.setdefault(path, Host(path))
    return atom


def string(text: str) -> Value:
    """Return the value of a string constant, unknown when it is too long to follow."""
    return frozenset({text}) if len(text) <= MAX_STRING_LENGTH else V_STRING


def of(*atoms: Atom) -> Value:
    """Return the value that holds just these atoms."""
    return frozenset(atoms)


V_GLOBAL: Value = of(known("globalThis", "global-object"))


def join(left: Value, right: Value) -> Value:
    """Return the union; an unknown absorbs the constants of its type, and too many constants become one."""
    if left is right or right <= left:
        return left
    if left:
        joined = left | right
    elif len(right) == 1:
        return right
    else:
        joined = right
    if len(joined) > MAX_STRINGS or not _ABSORBING.isdisjoint(joined):
        return widened(joined)
    return joined


def widened(value: Value, *, force: bool = False) -> Value:
    """Replace the constants of a type by its unknown where that is present, they are too many, or always."""
    strings = [atom for atom in value if type(atom) is str]
    numbers: list[Atom] = []
    hosts: list[Atom] = []
    if force or len(value) > MAX_NUMBERS or ANY_NUMBER in value:
        numbers = [atom for atom in value if type(atom) is Primitive and atom.type == "number"]
    if len(value) > MAX_HOSTS or ANY_HOST in value:
        hosts = [atom for atom in value if type(atom) is Host]
    if strings and (force or len(strings) > MAX_STRINGS or not _DROPS_TEXTS.isdisjoint(value)):
        value = value.difference(strings)
        if any(is_active(text) for text in strings):
            value |= of(ACTIVE)
        if begins_evaluation(strings) or is_accumulated(strings):
            value |= of(DECODED)
        elif begins_name(strings):
            value |= of(COMPOSED)
        elif are_letters(strings):
            value |= of(CHARACTER)
        if not value & STRING_UNKNOWNS:
            value |= V_STRING
    if numbers and (force or len(numbers) > MAX_NUMBERS or ANY_NUMBER in value):
        value = value.difference(numbers) | V_NUMBER
    if len(hosts) > MAX_HOSTS or (len(hosts) > 1 and ANY_HOST in value):
        value = value.difference(hosts) | of(ANY_HOST)
    return value


def counted(old: Value, new: Value) -> Value:
    """Return ``new`` with any number in it when it adds numbers, and nothing else, to those that ``old`` has."""
    added = new - old
    if added and all(type(atom) is Primitive and atom.type == "number" for atom in added):
        return frozenset(a for a in new if not (type(a) is Primitive and a.type == "number")) | V_NUMBER
    return new


def is_tainted(value: Value) -> bool:
    """Whether the value derives from ``arg``, JSON or the page."""
    return TEXT in value or DATA in value or LETTER in value
