"""The emitter: from a payload to the program P' that is run instead of it (harden.md §2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evalward.guard.harden import (
    print_calls,
    print_chains,
    print_expressions,
    print_objects,
    print_statements,
)
from evalward.guard.harden.function_tree import Function
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.outcome import NotHardenable, RefusedError
from evalward.guard.harden.print_functions import block_body, declared_variables, registered
from evalward.guard.harden.printer import Printer, synchronised
from evalward.guard.harden.reading import read
from evalward.guard.harden.travel import Sendings
from evalward.guard.harden.tree import Paren
from evalward.guard.syntax.depth import may_nest_deeper, nesting_exceeds
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from evalward.guard.harden.function_tree import FunctionDeclaration
    from evalward.guard.harden.printer import ExpressionPrinter, StatementPrinter
    from evalward.guard.harden.statement_tree import Program
    from evalward.guard.harden.travel import Programs
    from evalward.guard.harden.tree import Expression, Statement
    from evalward.guard.syntax.program import ParsedProgram

_EXPRESSIONS: Final[Mapping[type[Expression], ExpressionPrinter]] = {
    **print_expressions.HANDLERS,
    **print_calls.HANDLERS,
    **print_chains.HANDLERS,
    **print_objects.HANDLERS,
}
_STATEMENTS: Final[Mapping[type[Statement], StatementPrinter]] = print_statements.HANDLERS
_DEPTH: Final = 150
"""How deep a payload may nest: each level costs at most four calls here, and Python allows a thousand."""
_INNER: Final = "return()=>{"
"""The payload does not run in the function that has the head: a sloppy function's `caller` shows its caller's text."""
_SPOKEN: Final = {
    "ig": "(f,i)=>{try{return f()}catch(e){try{i.c()}catch(_){}throw e}}",
    "iga": "async(f,i)=>{try{return await f()}catch(e){try{i.c()}catch(_){}throw e}}",
    "ra": "(a,i)=>{let r=[],n=0;while(i<a.length)r[n++]=a[i++];return r}",
}
"""Functions that need nothing of the run-time, so P' defines them itself."""

_WITHIN_FUNCTIONS: Final = frozenset({Shape.SCRIPT, Shape.EXPRESSION, Shape.ASYNC_BODY})
"""The shapes whose top level drivers put into a function."""
_MODULE: Final = ",".join(
    f"typeof {name}>'u'?0:{name}" for name in ("require", "module", "exports", "process")
)
"""What a function around a CommonJS module is called with: the run-time compares it with ``arguments``."""


@dataclass(frozen=True, slots=True)
class Emission:
    """The parts of P' around the head, what the head names, and the same without it for people to read."""

    opening: str
    rest: str
    used: frozenset[str]

    def text(self, head: str) -> str:
        """Return P' with ``head``, which is one line."""
        return f"{self.opening}{head}{self.rest}"


def emitted(  # noqa: PLR0913 - what a text follows from
    program: ParsedProgram,
    shape: Shape,
    prefix: str,
    bound: Container[str] = frozenset(),
    programs: Programs | None = None,
    *,
    arguments: bool = False,
) -> Emission | NotHardenable:
    """Print ``program`` in ``shape``; ``prefix`` begins every name that P' declares.

    ``bound`` are the free names that may hold a host object which is no global. ``programs`` makes what goes to other
    realms. With ``arguments`` the top level may use those of a function around it: drivers put such a function around
    scripts and expressions for a page.
    """
    root = program.tree.root_node
    if may_nest_deeper(root, _DEPTH) and (deep := nesting_exceeds(root, _DEPTH)) is not None:
        start = max(deep.start_byte - program.offset, 0)
        return NotHardenable("The payload nests too deep.", kind=deep.type, start=start, end=start)
    try:
        sendings = None if programs is None else Sendings()
        tree, reader = read(program, shape, prefix, sendings)
        if sendings is not None and programs is not None:
            sendings.resolve(programs.routes)
        printer = Printer(reader.scopes, _EXPRESSIONS, _STATEMENTS, bound, programs)
        printer.has_arguments = arguments and shape in _WITHIN_FUNCTIONS
        opening, body, closing = _WRITERS[shape](printer, tree)
        if printer.uses_arguments:
            body = f"typeof arguments=='object'&&{printer.run('ga')}(arguments,[{_MODULE}]);{body}"
    except RefusedError as refused:
        return refused.outcome
    except RecursionError:
        return NotHardenable("The payload nests too deep.")
    return Emission(opening, synchronised(f"{body}{closing}"), frozenset(printer.used))


def head_names(emission: Emission, prefix: str) -> tuple[str, str]:
    """Return the names that P' takes from the run-time, and the functions that it defines itself."""
    used = sorted(emission.used)
    names = ",".join(f"{name}:{prefix}{name}" for name in used if name not in _SPOKEN)
    spoken = "".join(f",{prefix}{name}={_SPOKEN[name]}" for name in used if name in _SPOKEN)
    return names, spoken


def _statements(printer: Printer, tree: Program) -> str:
    """Print a body with what is declared at its top."""
    if tree.body is None:
        raise RuntimeError("this shape has statements")
    text = block_body(printer, tree.body)
    declared = declared_variables(printer, tree.variables)
    functions = "".join(f"{each};" for each in registered(printer, tree.body.functions))
    shared = [each for each in tree.body.functions if each.binding.is_global]
    if shared or tree.globals:
        functions += _shared(printer, tree.globals, shared)
    return f"{declared}{functions}{text}"


def _shared(printer: Printer, names: list[str], functions: list[FunctionDeclaration]) -> str:
    """Print the declaration of a script's variables and functions, which the global object has."""
    made = {each.binding.name: each.binding.printed for each in functions}
    variables = ",".join(string_text(name) for name in dict.fromkeys(names) if name not in made)
    pairs = ",".join(f"{string_text(name)},{printed}" for name, printed in made.items())
    return f"{printer.run('hd')}([{variables}],[{pairs}]);"


def _directive(tree: Program) -> str:
    return '"use strict";' if tree.directive else ""


def _script(printer: Printer, tree: Program) -> tuple[str, str, str]:
    completion = printer.frame.completion = printer.temporary()
    body = _statements(printer, tree)
    closing = f"return {printer.run('end')}({completion});}};}})()()"
    return f"(()=>{{{_directive(tree)}", f"{_INNER}{body}", closing


def _async_body(printer: Printer, tree: Program) -> tuple[str, str, str]:
    body = _statements(printer, tree)
    return _directive(tree), f"return {printer.run('end')}((async()=>{{{body}}})());", ""


def _module(printer: Printer, tree: Program) -> tuple[str, str, str]:
    return "", _statements(printer, tree), ""


def _expression(printer: Printer, tree: Program) -> tuple[str, str, str]:
    if tree.value is None:
        raise RuntimeError("this shape has a value")
    text = printer.expression(tree.value)
    declared = declared_variables(printer, [])
    return "(()=>{", f"{_INNER}{declared}return {printer.run('end')}({text});", "};})()()"


def _function(printer: Printer, tree: Program) -> tuple[str, str, str]:
    """Print one function expression with the kind and length of the payload's."""
    if tree.value is None:
        raise RuntimeError("this shape has a value")
    inner = tree.value
    while type(inner) is Paren:
        inner = inner.inner
    text = printer.expression(inner)
    declared = declared_variables(printer, [])
    word = star = directive = delegates = ""
    parameters: list[str] = []
    if type(inner) is Function:
        word = "async " if inner.asynchronous else ""
        star = "*" if inner.generator else ""
        directive = '"use strict";' if inner.strict else ""
        delegates = "yield*" if inner.generator else ""
        for element in inner.parameters:
            if element.default is not None:
                break
            parameters.append(printer.scopes.fresh())
    applied = f"{printer.run('apply')}({text},this,arguments)"
    body = f"{declared}return {printer.run('end')}({delegates}{applied});"
    return f"({word}function{star}({','.join(parameters)}){{{directive}", body, "})"


_WRITERS: Final = {
    Shape.SCRIPT: _script,
    Shape.ASYNC_BODY: _async_body,
    Shape.MODULE: _module,
    Shape.EXPRESSION: _expression,
    Shape.FUNCTION: _function,
}
