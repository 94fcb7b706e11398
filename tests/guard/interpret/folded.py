"""What the resolver folds an expression to, and what QuickJS in the sandbox says that it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tree_sitter import Parser

from evalward.guard.builtins.registry import TRANSFER
from evalward.guard.catalogue import load_catalogue
from evalward.guard.domain.atoms import (
    ANY_BIGINT,
    ANY_BOOLEAN,
    ANY_NUMBER,
    ANY_SYMBOL,
    STRING_UNKNOWNS,
    V_GLOBAL,
    Primitive,
    Value,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.instructions import Op
from evalward.guard.interpret.interpreter import Interpreter
from evalward.guard.interpret.surroundings import Surroundings
from evalward.guard.lower.lower import lower
from evalward.guard.syntax.grammar import LANGUAGE
from evalward.guard.target import Shape
from evalward.sandbox import EvaluationLimits, Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.atoms import Atom

THROWS = "throws"
TYPED = {ANY_NUMBER: "number", ANY_BOOLEAN: "boolean", ANY_BIGINT: "bigint", ANY_SYMBOL: "symbol"}
LIMITS = EvaluationLimits(fuel=4_000_000_000, deadline_ms=1_000)
# Minus zero is zero to the guard, and to `String`.
ENCODE = """
const encode = value => value === null ? ['null', 'null']
  : Array.isArray(value) ? ['array', Array.from(value, encode)]
  : typeof value === 'object' || typeof value === 'function' ? ['object', '']
  : [typeof value, typeof value === 'symbol' ? '' : String(value)];
const attempt = make => { try { return encode(make()); } catch { return 'throws'; } };
"""


def fold(expressions: Sequence[str]) -> list[Value]:
    """Return the abstract value of each expression."""
    source = f"[{','.join(f'({each})' for each in expressions)}]".encode()
    root = Parser(LANGUAGE).parse(source).root_node
    assert not root.has_error, source
    lowered = lower(source, root.named_children, expression=False, module=False, script=True)
    surroundings = Surroundings(lowered, load_catalogue(), steps=3_000_000, strict=False, this=V_GLOBAL)
    interpreter = Interpreter(surroundings, TRANSFER)
    interpreter.run()
    (worth,) = (each[2] for each in lowered.units[0].code if each[0] is Op.COMPLETE)
    (array,) = interpreter.machine.dataflow.values[worth]
    assert isinstance(array, HeapObject)
    assert array.exact
    return [*array.items]


def run(sandbox: Sandbox, expressions: Sequence[str]) -> list[Any]:
    """Return ``[type, text]`` of what each expression really gives, or "throws"."""
    thunks = ",".join(f"attempt(() => ({each}))" for each in expressions)
    done = sandbox.evaluate(f"{ENCODE}[{thunks}]".encode(), shape=Shape.SCRIPT, limits=LIMITS)
    if done.result is not None:
        return list(json.loads(done.result))
    if len(expressions) == 1:
        return [THROWS]  # it ends the run itself: too long a string, too deep a call
    half = len(expressions) // 2
    return run(sandbox, expressions[:half]) + run(sandbox, expressions[half:])


def admits(value: Value, actual: Any) -> bool:
    """Return whether an abstract value stands for what was seen."""
    kind, text = actual
    return any(_atom_admits(atom, kind, text) for atom in value)


def _atom_admits(atom: Atom, kind: str, text: Any) -> bool:
    if type(atom) is str:
        return kind == "string" and text == atom
    if type(atom) is Primitive:
        return (kind in (atom.type, "null") and text == atom.text) or kind == atom.type == "symbol"
    if atom in STRING_UNKNOWNS:
        return kind in {"string", "undefined"}  # a character that may lie outside
    if atom in TYPED:
        is_index = kind == "string" and str(text).isdigit()
        return kind == TYPED[atom] or (is_index and atom is ANY_NUMBER)  # an array's keys
    if isinstance(atom, HeapObject):
        return _object_admits(atom, kind, text)
    return True


def _object_admits(target: HeapObject, kind: str, text: Any) -> bool:
    if kind != "array":
        return kind == "object"
    if target.kind != "array" or target.escaped or target.extensible:
        return True
    if target.exact:
        return len(text) == len(target.items) and all(map(admits, target.items, text))
    return all(admits(target.contents(), item) or item[0] == "undefined" for item in text)
