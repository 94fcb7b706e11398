"""Printing statements (harden.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.function_tree import Block, FunctionDeclaration
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.print_functions import block_body, declaration, registered
from evalward.guard.harden.print_patterns import Steps
from evalward.guard.harden.print_resources import resource, used
from evalward.guard.harden.print_targets import assignment, put_binding
from evalward.guard.harden.printer import mark
from evalward.guard.harden.statement_tree import (
    ClassDeclaration,
    Declaration,
    DoWhile,
    Empty,
    ExpressionStatement,
    For,
    ForIn,
    If,
    Jump,
    Labeled,
    Return,
    Switch,
    Throw,
    Try,
    While,
)
from evalward.guard.harden.tree import Name, Statement

if TYPE_CHECKING:
    from evalward.guard.harden.printer import Printer, StatementPrinter


def _expression(printer: Printer, node: ExpressionStatement) -> str:
    text = printer.expression(node.expression)
    completion = printer.frame.completion
    if completion is not None:
        return f"{mark(node.line)}{completion}={text};"
    return f"{mark(node.line)}({text});" if text[0] in "{'\"" else f"{mark(node.line)}{text};"


def _declaration(printer: Printer, node: Declaration) -> str:
    text = declarators(printer, node)
    return f"{mark(node.line)}{text};" if text else ""


def declarators(printer: Printer, node: Declaration) -> str:
    """Print a declaration; the names of ``var`` are declared at the top, and only assigned here."""
    declares = node.kind != "var"
    steps = Steps(printer, declares=declares, strict=True)
    for target, value in node.declarators:
        if value is None:
            if type(target) is Name and target.binding is not None:
                steps.out.append(target.binding.printed)
            continue
        if type(target) is not Name:
            steps.bind(target, printer.expression(value))
            continue
        text = printer.named(value, string_text(target.name))
        if declares:
            steps.bind(target, text)
        else:
            steps.out.append(assignment(printer, target, text, strict=False))
    if not steps.out:
        return ""
    if node.kind == "using":
        return used(printer, node.declarators, steps)
    return f"{node.kind if declares else ''} {','.join(steps.out)}".strip()


def _function(printer: Printer, node: FunctionDeclaration) -> str:
    text = f"{mark(node.line)}{declaration(printer, node)}"
    if node.variable is None:
        return text
    assigned = put_binding(printer, node.variable, node.binding.printed)
    completion = printer.frame.completion
    if completion is None:
        return f"{text}{assigned};"
    return f"{text}{completion}={printer.run('bf')}({completion},{assigned});"


def _class(printer: Printer, node: ClassDeclaration) -> str:
    return f"{mark(node.line)}let {node.binding.printed}={printer.expression(node.value)};"


def _return(printer: Printer, node: Return) -> str:
    if node.value is None:
        return f"{mark(node.line)}return;"
    return f"{mark(node.line)}return {printer.expression(node.value)};"


def block(printer: Printer, node: Block) -> str:
    """Print a block: first its functions are registered."""
    functions = "".join([f"{each};" for each in registered(printer, node.functions)])
    return f"{{{functions}{block_body(printer, node)}}}"


def _block(printer: Printer, node: Block) -> str:
    return f"{mark(node.line)}{block(printer, node)}"


def _body(printer: Printer, node: Statement) -> str:
    return block(printer, node) if type(node) is Block else f"{{{printer.statement(node)}}}"


def _emptied(printer: Printer) -> str:
    """Print that a statement whose parts give no value gives undefined (ECMA-262 §14, UpdateEmpty)."""
    completion = printer.frame.completion
    return "" if completion is None else f"{completion}=void 0;"


def _if(printer: Printer, node: If) -> str:
    pieces = [mark(node.line), _emptied(printer)]
    for number, (test, then) in enumerate(node.arms):
        pieces += ("else " if number else "", f"if({printer.expression(test)})", _body(printer, then))
    if node.otherwise is not None:
        pieces += ("else", _body(printer, node.otherwise))
    return "".join(pieces)


def _while(printer: Printer, node: While) -> str:
    return f"while({printer.expression(node.test)}){_body(printer, node.body)}"


def _do(printer: Printer, node: DoWhile) -> str:
    body = _body(printer, node.body)
    return f"do{body}while({printer.expression(node.test)});"


def _for(printer: Printer, node: For) -> str:
    initial = node.initial
    first = ""
    if isinstance(initial, Declaration):
        first = declarators(printer, initial)
    elif initial is not None:
        first = _begun(printer.expression(initial))
    test = "" if node.test is None else printer.expression(node.test)
    update = "" if node.update is None else printer.expression(node.update)
    return f"for({first};{test};{update}){_body(printer, node.body)}"


def _begun(text: str) -> str:
    return f"({text})" if text.startswith("{") else text


def _for_in(printer: Printer, node: ForIn) -> str:
    right = printer.expression(node.right)
    declares = node.kind not in {"", "var"}
    steps = Steps(printer, declares=declares, strict=node.strict)
    given = printer.scopes.fresh()
    value = f"{printer.run('v')}({given})" if node.of else given
    steps.bind(node.target, value)
    kind = "const" if node.kind == "using" else node.kind
    bound = f"{kind} {','.join(steps.out)};" if declares else f"{','.join(steps.out)};"
    if node.kind == "using":
        bound += f"{resource(printer, node.target)};"
    if node.initial is not None and type(node.target) is Name:
        begun = printer.named(node.initial, string_text(node.target.name))
        right = f"({assignment(printer, node.target, begun, strict=False)},{right})"
    word = "for await" if node.awaits else "for"
    printer.frame.awaits += node.awaits
    return f"{word}(const {given} {'of' if node.of else 'in'} {right}){{{bound}{_body(printer, node.body)}}}"


def _switch(printer: Printer, node: Switch) -> str:
    value = printer.expression(node.value)
    functions = registered(printer, node.functions)
    tested = any(case.test is not None for case in node.cases)
    pieces: list[str] = []
    for case in node.cases:
        if case.test is None:
            pieces.append("default:")
            if functions and not tested:
                pieces.append("".join(f"{each};" for each in functions))
        else:
            test = printer.expression(case.test)
            if functions:
                # The first test is evaluated before any of the statements.
                test = f"({','.join([*functions, test])})"
                functions = []
            pieces.append(f"case {test}:")
        pieces += [printer.statement(each) for each in case.statements]
    return f"switch({value}){{{''.join(pieces)}}}"


def _try(printer: Printer, node: Try) -> str:
    pieces = [f"try{block(printer, node.block)}"]
    if node.handler is not None:
        caught = printer.scopes.fresh()
        value = f"{printer.run('ca')}({caught})"
        if node.parameter is None:
            bound = f"{value};"
        else:
            steps = Steps(printer, declares=True, strict=True)
            steps.bind(node.parameter, value)
            bound = f"let {','.join(steps.out)};"
        pieces.append(f"catch({caught}){{{bound}{block(printer, node.handler)}}}")
    if node.finalizer is not None:
        pieces.append(_finally(printer, node.finalizer))
    return "".join(pieces)


def _finally(printer: Printer, node: Block) -> str:
    """Print a finally clause; it gives the value of a script only where it ends the script's statement early."""
    completion = printer.frame.completion
    ends = f"{printer.run('fi')}();"
    if completion is None:
        return f"finally{{{ends}{block(printer, node)}}}"
    held = printer.temporary()
    return (
        f"finally{{{ends}{held}={completion};{completion}=void 0;{block(printer, node)}{completion}={held};}}"
    )


def _labeled(printer: Printer, node: Labeled) -> str:
    labels = [node.label]
    body = node.body
    while type(body) is Labeled:
        labels.append(body.label)
        body = body.body
    text = "".join(f"{label}:" for label in labels)
    compound = _COMPOUND.get(type(body))
    if compound is not None:
        return f"{mark(node.line)}{_emptied(printer)}{text}{compound(printer, body)}"
    return f"{mark(node.line)}{text}{_body(printer, body)}"


def _compound(printer: Printer, node: Statement) -> str:
    line: int = getattr(node, "line")  # noqa: B009
    return f"{mark(line)}{_emptied(printer)}{_COMPOUND[type(node)](printer, node)}"


def _jump(_: Printer, node: Jump) -> str:
    return f"{mark(node.line)}{node.word}{'' if node.label is None else ' ' + node.label};"


def _throw(printer: Printer, node: Throw) -> str:
    return f"{mark(node.line)}throw {printer.expression(node.value)};"


def _empty(_: Printer, __: Empty) -> str:
    return ""


_COMPOUND: Final[dict[type[Statement], StatementPrinter]] = {
    While: _while,
    DoWhile: _do,
    For: _for,
    ForIn: _for_in,
    Switch: _switch,
    Try: _try,
}
HANDLERS: Final[dict[type[Statement], StatementPrinter]] = {
    ExpressionStatement: _expression,
    Declaration: _declaration,
    FunctionDeclaration: _function,
    ClassDeclaration: _class,
    Return: _return,
    Block: _block,
    If: _if,
    Jump: _jump,
    Throw: _throw,
    Labeled: _labeled,
    Empty: _empty,
    **dict.fromkeys(_COMPOUND, _compound),
}
