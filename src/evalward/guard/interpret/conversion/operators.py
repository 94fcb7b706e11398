"""Operators on constants (ECMA-262 §13); an operation that is not modelled gives the unknown of its result type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    BOTTOM,
    FALSE,
    NULL,
    SCHEME_MARKS,
    STRING_UNKNOWNS,
    TRUE,
    UNDEFINED,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    Known,
    Primitive,
    Value,
    number,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.script_urls import scheme_marks
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.conversion.concatenation import Concatenation
    from evalward.guard.interpret.dataflow import Dataflow

_COMPARISONS = frozenset({"==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"})
_NOTHING: Value = of(UNDEFINED, NULL)  # compared with which, nothing is converted
_MAX_PAIRS = 64
_EXACT_BITS = 53
_WORD = 0xFFFFFFFF


def to_int32(value: float) -> int:
    """Return ToInt32 (ECMA-262 §7.1.6)."""
    if not math.isfinite(value):
        return 0
    word = int(value) & _WORD
    return word - (_WORD + 1) if word > _WORD >> 1 else word


def _power(left: float, right: float) -> float:
    if abs(left) == 1 and not math.isfinite(right):
        return math.nan
    if not _is_exact_power(left, right):
        raise ArithmeticError  # engines differ in the last digit of what is not exact
    return float(left**right)


def _is_exact_power(left: float, right: float) -> bool:
    if not (left.is_integer() and right.is_integer()) or right < 0:
        return False
    return abs(left) <= 1 or right * math.log2(abs(left)) < _EXACT_BITS


def _by_zero(operator: str, left: float) -> Value:
    """Return the results of a division by zero: both signs, because the sign of zero is not tracked."""
    if operator == "%" or left == 0 or left != left:  # noqa: PLR0124 - NaN
        return number(math.nan).value
    return of(number(math.inf), number(-math.inf))


_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": math.fmod,
    "**": _power,
    "|": lambda left, right: to_int32(left) | to_int32(right),
    "&": lambda left, right: to_int32(left) & to_int32(right),
    "^": lambda left, right: to_int32(left) ^ to_int32(right),
    "<<": lambda left, right: to_int32(to_int32(left) << (to_int32(right) & 31)),
    ">>": lambda left, right: to_int32(left) >> (to_int32(right) & 31),
    ">>>": lambda left, right: (to_int32(left) & _WORD) >> (to_int32(right) & 31),
}


def _plain_number(atom: Atom) -> float | None:
    return atom.number if type(atom) is Primitive and atom.type == "number" else None


def _with_one_primitive(value: Value) -> list[Atom]:
    """Return the atoms with one number, or the like, for all of them: put to an unknown text all give the same."""
    primitives = [atom for atom in value if type(atom) is Primitive]
    return [*primitives[:1], *(atom for atom in value if type(atom) is not Primitive)]


def truthiness(atom: Atom) -> bool | None:
    """Return ToBoolean of an atom, None when it is not known."""
    if type(atom) is str:
        return bool(atom)
    if type(atom) is Primitive:
        return atom.truthy
    if isinstance(atom, (HeapObject, Known)):
        return True
    return None


class Operators:
    """Folding of unary and binary operators."""

    def __init__(self, dataflow: Dataflow, concatenation: Concatenation, coercion: Coercion) -> None:
        self._dataflow = dataflow
        self._concatenation = concatenation
        self._coercion = coercion
        # Sums with an unknown text: code that runs again asks for the same ones.
        self._sums: dict[tuple[Value, Value], Value] = {}

    def apply_binary_operator(self, operator: str, left: Value, right: Value, span: Span) -> Value:
        """Return the value of a binary expression (ECMA-262 §13.15.4)."""
        if not left or not right:
            return join(left, right) if operator in {"||", "&&", "??"} else BOTTOM
        self._dataflow.spend((len(left) + len(right)) >> 2)
        match operator:
            case "+":
                return self._add(left, right, span)
            case "||":
                return join(frozenset(a for a in left if truthiness(a) is not False), right)
            case "&&":
                return join(frozenset(a for a in left if truthiness(a) is not True), right)
            case "??":
                return join(left, right)
            case _ if operator in _COMPARISONS:
                nothing = operator in {"==", "!="} and (left <= _NOTHING or right <= _NOTHING)
                if operator not in {"===", "!==", "in", "instanceof"} and not nothing:
                    objects = [a for a in left | right if isinstance(a, HeapObject)]
                    if objects:
                        self._primitives(frozenset(objects), span)
                return self._compare(operator, left, right)
            case _:
                return self._arithmetic(operator, left, right, span)

    def _compare(self, operator: str, left: Value, right: Value) -> Value:
        if len(left) == 1 and len(right) == 1:
            (one,), (other,) = left, right
            left_number, right_number = _plain_number(one), _plain_number(other)
            if operator in {"==", "===", "!=", "!=="}:
                if type(one) is str and type(other) is str:
                    return of(TRUE if (one == other) == operator.startswith("=") else FALSE)
                if left_number is not None and right_number is not None:
                    return of(TRUE if (left_number == right_number) == operator.startswith("=") else FALSE)
            elif left_number is not None and right_number is not None and operator in _ORDER:
                return of(TRUE if _ORDER[operator](left_number, right_number) else FALSE)
        return V_ANY_BOOLEAN

    def _add(self, left: Value, right: Value, span: Span) -> Value:
        left = self._primitives(left, span)
        right = self._primitives(right, span)
        marks: Value = BOTTOM
        if not (SCHEME_MARKS.isdisjoint(left) and SCHEME_MARKS.isdisjoint(right)):
            marks = scheme_marks((left, right))
            left, right = left - SCHEME_MARKS, right - SCHEME_MARKS
        if STRING_UNKNOWNS.isdisjoint(left) and STRING_UNKNOWNS.isdisjoint(right):
            return join(self._add_primitives(left, right), marks)
        made = self._sums.get((left, right))
        if made is None:
            made = self._sums[left, right] = self._add_primitives(left, right)
        return join(made, marks)

    def _add_primitives(self, left: Value, right: Value) -> Value:
        if len(left) * len(right) > _MAX_PAIRS:
            return join(self._concatenation.unresolved((left, right)), V_ANY_NUMBER)
        if len(left) == len(right) == 1:
            (one,), (other,) = left, right
            return self._add_atoms(one, other)
        found: set[Atom] = set()  # joined once: one by one takes the square of the time
        few_left, few_right = _with_one_primitive(left), _with_one_primitive(right)
        for one in left:
            for other in few_right if one in STRING_UNKNOWNS else right:
                if one in few_left or other not in STRING_UNKNOWNS:
                    found |= self._add_atoms(one, other)
        return join(BOTTOM, frozenset(found))

    def _primitives(self, value: Value, span: Span) -> Value:
        if len(value) == 1:
            (atom,) = value
            return (
                value
                if type(atom) is str or type(atom) is Primitive
                else self._coercion.to_primitive(atom, span)
            )
        found: set[Atom] = set()
        for atom in value:
            if type(atom) is str or type(atom) is Primitive:
                found.add(atom)
            else:
                found |= self._coercion.to_primitive(atom, span)
        return value if len(found) == len(value) and found == value else join(BOTTOM, frozenset(found))

    def _add_atoms(self, one: Atom, other: Atom) -> Value:
        if type(one) is str and type(other) is str:
            return self._concatenation.glued(one, other)
        if type(one) is str and type(other) is Primitive:
            return self._concatenation.glued(one, other.text)
        if type(one) is Primitive and type(other) is str:
            return self._concatenation.glued(one.text, other)
        if type(one) is Primitive and type(other) is Primitive:
            return number(one.number + other.number).value
        if type(one) is str or type(other) is str or one in STRING_UNKNOWNS or other in STRING_UNKNOWNS:
            return self._concatenation.concatenated((of(one), of(other)))
        return of(ANY_BIGINT) if one is ANY_BIGINT or other is ANY_BIGINT else V_ANY_NUMBER

    def _arithmetic(self, operator: str, left: Value, right: Value, span: Span) -> Value:
        ones, others = self._coercion.to_number(left, span), self._coercion.to_number(right, span)
        function = _ARITHMETIC.get(operator)
        if ANY_BIGINT in left and ANY_BIGINT in right:
            return join(V_ANY_NUMBER, of(ANY_BIGINT))
        if function is None or len(ones) * len(others) > _MAX_PAIRS:
            return V_ANY_NUMBER
        found: set[Atom] = set()
        for one in ones:
            for other in others:
                if type(one) is not Primitive or type(other) is not Primitive:
                    return V_ANY_NUMBER
                try:
                    found.add(number(function(one.number, other.number)))
                except ZeroDivisionError:
                    found |= _by_zero(operator, one.number)
                except (ArithmeticError, ValueError):
                    return V_ANY_NUMBER
        return join(BOTTOM, frozenset(found))

    def apply_unary_operator(self, operator: str, value: Value, span: Span) -> Value:
        """Return the value of a unary expression."""
        match operator:
            case "typeof":
                return self._typeof(value)
            case "void":
                return V_UNDEFINED
            case "delete":
                return V_ANY_BOOLEAN
            case "!":
                known = {truthiness(atom) for atom in value}
                if len(known) == 1 and None not in known:
                    return of(FALSE if known.pop() else TRUE)
                return V_ANY_BOOLEAN if value else BOTTOM
            case "+":
                return self._coercion.to_number(value, span)
            case _:
                result: Value = BOTTOM
                for atom in self._coercion.to_number(value, span):
                    if type(atom) is not Primitive:
                        return join(V_ANY_NUMBER, value & of(ANY_BIGINT))
                    folded = -atom.number if operator == "-" else ~to_int32(atom.number)
                    result = join(result, number(folded).value)
                return result

    def _typeof(self, value: Value) -> Value:
        if not value:
            return BOTTOM
        names: set[Atom] = set()
        for atom in value:
            if type(atom) is str:
                names.add("string")
            elif type(atom) is Primitive:
                names.add(atom.type)
            elif isinstance(atom, HeapObject):
                atom.readers[self._dataflow.reader] = None
                if atom.escaped:
                    return V_ANY_STRING
                names.add("function" if atom.callable else "object")
                if atom.kind == "proxy":
                    names.add("function")  # as its target is
            else:
                return V_ANY_STRING
        return frozenset(names)

    def update(self, value: Value, step: int, span: Span, *, variable: bool) -> Value:
        """Return the new value of ``++`` and ``--``; for a variable any number, because it counts."""
        if not value:
            return BOTTOM
        if variable:
            self._coercion.to_number(value, span)
            return of(ANY_BIGINT) if ANY_BIGINT in value else V_ANY_NUMBER
        return self._arithmetic("-", value, number(-step).value, span)
