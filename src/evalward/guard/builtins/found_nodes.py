"""Nodes that a page gives back: what XPath selects, and attributes that walkers, iterators and ranges are given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evalward.guard.builtins.document import is_plain
from evalward.guard.domain.atoms import SPELLS_ANY_NAME, V_TAINTED_DATA, V_UNDEFINED, Value, known, of
from evalward.guard.domain.flow import Flow

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_ELEMENT: Final = of(known("Element"))
_WALKER: Final = of(known("TreeWalker"))
_ATTRIBUTES: Final = of(known("Attr"), known("HandlerAttr"))
# Members through which a walker, an iterator, a range or a selection shows the nodes that it was given.
_HOLDERS: Final = (
    *("Element.root", "Element.referenceNode", "Element.startContainer"),
    *("TreeWalker.root", "TreeWalker.currentNode"),
    *(
        "Element.endContainer",
        "Element.commonAncestorContainer",
        "Selection.anchorNode",
        "Selection.focusNode",
    ),
)
_PREDICATE: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\[\]]*\]")
_KINDS: Final = ("Handler", "Attribute", "Element", "PlainElement")  # what decides comes first
_LAST_ELEMENT: Final = re.compile(r"(?:^|/|::)\s*([A-Za-z][\w-]*)$")
_LAST_STEP: Final = re.compile(r"(?:^|/|::)\s*(?:@|attribute\s*::)\s*([^/|]*)$")


def _steps_to(expression: str) -> set[str]:
    """Return the kinds of nodes that an expression selects, of those in ``_KINDS``."""
    before = None
    while before != expression:
        before, expression = expression, _PREDICATE.sub("", expression)
    kinds = set()
    for path in expression.split("|"):
        last = path.strip().rstrip(")").rstrip()
        step, element = _LAST_STEP.search(last), _LAST_ELEMENT.search(last)
        if step is not None:
            kinds.add("Handler" if step[1].strip().lower().startswith("on") else "Attribute")
        else:
            kinds.add("PlainElement" if element is not None and is_plain(element[1]) else "Element")
    return kinds


def _gives_own_text(expression: str) -> bool:
    """Whether an expression has a literal outside of predicates, which may be what it gives (XPath 1.0 §3.7)."""
    depth, quote = 0, ""
    for letter in expression:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            if not depth:
                return True
            quote = letter
        else:
            depth += (letter == "[") - (letter == "]")
    return False


def _kind(machine: Machine, call: Call) -> str:
    texts = machine.to_string(call.arg(0), call.span)
    if any(_gives_own_text(atom) if type(atom) is str else atom in SPELLS_ANY_NAME for atom in texts):
        return "Text"
    kinds = set[str]().union(*(_steps_to(atom) for atom in texts if type(atom) is str))
    return next((kind for kind in _KINDS if kind in kinds), "Element")


def _evaluate(machine: Machine, call: Call) -> Value:
    """``document.evaluate``: a result whose nodes are elements, unless its path ends in an attribute."""
    machine.leak(call.all(1), Flow.ARGUMENT, call.span)
    kind = _kind(machine, call)
    found = of(known(f"XPath{kind}s"))
    return found if kind == "PlainElement" else V_TAINTED_DATA | found


def _create_expression(machine: Machine, call: Call) -> Value:
    return of(known(f"XPath{_kind(machine, call)}Expression"))


def _hold(machine: Machine, call: Call) -> None:
    """Note attributes that a node of the page shows again later."""
    given = call.all() & _ATTRIBUTES
    for holder in _HOLDERS if given else ():
        machine.patches.put(holder, given)


def _held(machine: Machine) -> Value:
    return machine.patches.read("Element.root")


def _walker(machine: Machine, call: Call) -> Value:
    _hold(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return _WALKER


def _iterator(machine: Machine, call: Call) -> Value:
    _hold(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return _ELEMENT


def _place(machine: Machine, call: Call) -> Value:
    _hold(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNDEFINED


def _next(machine: Machine, call: Call) -> Value:
    del call
    return _ELEMENT | _held(machine)


TRANSFER: dict[str, Transfer] = {
    "document.evaluate": _evaluate,
    "XPathEvaluator.prototype.evaluate": _evaluate,
    "document.createExpression": _create_expression,
    "XPathEvaluator.prototype.createExpression": _create_expression,
    "document.createTreeWalker": _walker,
    "document.createNodeIterator": _iterator,
    "Element.nextNode": _next,
    **dict.fromkeys(
        (
            *(f"TreeWalker.{name}" for name in ("parentNode", "firstChild", "lastChild", "nextNode")),
            *(f"TreeWalker.{name}" for name in ("nextSibling", "previousSibling", "previousNode")),
        ),
        _next,
    ),
    **dict.fromkeys(
        (
            *(f"Element.{name}" for name in ("selectNode", "selectNodeContents", "setStart", "setEnd")),
            *(
                f"Selection.{name}"
                for name in ("collapse", "setPosition", "extend", "selectAllChildren", "setBaseAndExtent")
            ),
        ),
        _place,
    ),
}
