"""What ``constructor`` gives: a catalogued function, the class of a driver's object, `Function` under its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import constructor_chain, function_constructor
from evalward.guard.domain.atoms import BOTTOM, Known, Value, known, of

if TYPE_CHECKING:
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.findings import Findings


def constructor_named(findings: Findings, path: str, span: Span) -> Value:
    """Return the constructor with a path of the catalogue, as `constructor` gives it."""
    if path == "Function":
        made = known("Function", function_constructor.LABEL)
        findings.origin(made, None, "`constructor` of a function is `Function`", span)
        return of(made)
    made = known(path, by_constructor=True)
    findings.origin(made, None, f"`constructor` is `{path}`", span)
    return of(made)


def class_of_driver(findings: Findings, atom: Known, name: str, span: Span) -> Value:
    """Return the class of a driver's object, which holds the same methods: `page.constructor.prototype.evaluate`.

    One entry stands for the object and its class; the latter is marked as read by `constructor`.
    """
    if name == "prototype":
        return of(known(atom.path)) if atom.by_constructor else BOTTOM
    if not atom.by_constructor:
        return of(known(atom.path, by_constructor=True))
    made = known("Function", constructor_chain.LABEL)
    findings.origin(made, atom, "`constructor` of a constructor is `Function`", span)
    return of(made)


def relabelled(findings: Findings, value: Value) -> Value:
    """Return ``Function`` under the label of a chain that reads ``constructor`` twice."""
    if not any(type(atom) is Known and atom.label == function_constructor.LABEL for atom in value):
        return value
    made = known("Function", constructor_chain.LABEL)
    for atom in value:
        if type(atom) is Known and atom.label == function_constructor.LABEL:
            findings.origins.setdefault(made, findings.origins.get(atom, ()))
    kept = frozenset(a for a in value if not (type(a) is Known and a.label == function_constructor.LABEL))
    return kept | of(made)
