"""What a call of an unknown callee builds from its arguments: a function, if that is Function (guard.md §2, use)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.constructs import dynamic_key
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    CONSTRUCTOR_OF_DATA,
    COPY_OR_FUNCTION,
    FUNCTION_FROM_TEXT,
    UNKNOWN,
    UNKNOWN_CONSTRUCTOR,
    UNKNOWN_NESTED_DATA,
    UNKNOWN_PLAIN,
    V_UNKNOWN,
    Host,
    of,
)
from evalward.guard.interpret.script_texts import any_script
from evalward.guard.markup import is_active

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.findings import Findings

_BY_UNKNOWN_KEYS = frozenset({UNKNOWN_CONSTRUCTOR, UNKNOWN_NESTED_DATA})


def built(
    findings: Findings,
    atom: Atom,
    args: Sequence[Value],
    rest: Value,
    span: Span,
    *,
    told: bool,
    constructing: bool,
) -> Value:
    """Return what the call of ``atom`` gives; ``told`` says whether a sink would judge one of the arguments' texts."""
    # `.constructor` of the page's data is Function when that is a function. `new x.constructor(x.size)` copies.
    copied = atom is CONSTRUCTOR_OF_DATA and not (told if constructing else any(args) or rest)
    # Without a text, Function makes a function that does nothing: `new x.constructor()`, `table[row][column]()`.
    copied = copied or not (args or rest or atom is FUNCTION_FROM_TEXT)
    if isinstance(atom, Host) or atom in {UNKNOWN, UNKNOWN_PLAIN} or copied:
        if not (copied and constructing and any(args)):
            return V_UNKNOWN
        findings.origin(COPY_OR_FUNCTION, atom, "`constructor` of the host's data may be Function", span)
        return of(UNKNOWN, COPY_OR_FUNCTION)
    if atom in _BY_UNKNOWN_KEYS and any(map(_holds_program, args)):
        note = "a program is given to what a key that cannot be resolved selects: it may run it"
        findings.report(dynamic_key.LABEL, Rank.BY_KEY, span, atom, note)
    findings.origin(FUNCTION_FROM_TEXT, atom, "a call that may build a function from text", span)
    return of(FUNCTION_FROM_TEXT, UNKNOWN)


def _holds_program(value: Value) -> bool:
    """Whether a constant is a program, or markup or a URL that runs one."""
    return any_script(value) or any(type(atom) is str and is_active(atom) for atom in value)
