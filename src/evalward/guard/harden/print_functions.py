"""Printing functions: parameters, ``arguments``, what is declared, what is registered (ECMA-262 §10.2.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.print_patterns import Steps
from evalward.guard.harden.printer import Frame
from evalward.guard.harden.tree import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.harden.function_tree import Block, Function, FunctionDeclaration
    from evalward.guard.harden.printer import Printer
    from evalward.guard.harden.scopes import Binding


def expression(printer: Printer, node: Function) -> str:
    """Print a function expression or an arrow function, which is registered where it is made."""
    head, body = code(printer, node)
    name = string_text(node.name) if node.name is not None else (node.given or '""')
    word = "async " if node.asynchronous else ""
    if node.kind == "arrow":
        text = f"{word}({head})=>{body}"
    else:
        star = "*" if node.generator else ""
        own = f" {node.self.printed}" if node.self is not None and _is_used(node.self) else ""
        text = f"{word}function{star}{own}({head}){body}"
    return f"{printer.run('f')}({text},{name},{node.start},{node.end}{_sent(printer, node)})"


def _sent(printer: Printer, node: Function) -> str:
    """Print the programs that go to other realms instead of a function."""
    if not node.routes or printer.programs is None:
        return ""
    return f",{printer.programs.of_function(node.start, node.end, node.routes, printer.scopes.fresh)}"


def _is_used(binding: Binding) -> bool:
    return binding.uses > 0 or binding.calls > 0 or binding.writes > 1


def declaration(printer: Printer, node: FunctionDeclaration) -> str:
    """Print a function declaration."""
    function = node.function
    head, body = code(printer, function)
    word = "async " if function.asynchronous else ""
    star = "*" if function.generator else ""
    return f"{word}function{star} {node.binding.printed}({head}){body}"


def registered(printer: Printer, functions: Sequence[FunctionDeclaration]) -> list[str]:
    """Return the calls that register the declared functions; the last of a name counts."""
    last = {node.binding.printed: node for node in functions}
    return [
        f"{printer.run('f')}({name},{string_text(node.function.name or '')},"
        f"{node.function.start},{node.function.end}{_sent(printer, node.function)})"
        for name, node in last.items()
    ]


def code(printer: Printer, node: Function) -> tuple[str, str]:
    """Return the text of a function's parameters and of its body."""
    saved, iterators = printer.frame, printer.iterators
    frame = printer.frame = Frame()
    printer.iterators = []
    arguments = None if node.kind == "arrow" or node.scope is None else node.scope.arguments
    if node.simple:
        _map(node, arguments)
        head, setup = _simple_parameters(printer, node)
    elif node.generator or (arguments is not None and not node.strict):
        head, setup = _inner_parameters(printer, node, arguments), []
        arguments = None
        frame.temporaries, frame.base, frame.key = [], None, None
    else:
        head, setup = _outer_parameters(printer, node)
    body = block_body(printer, node.body) if node.body is not None else _returned(printer, node)
    text = ["{"]
    if node.directive:
        text.append('"use strict";')
    text.append(declared_variables(printer, node.variables))
    # `arguments` shares the functions that are declared under the name of a parameter: they are registered first.
    text += (f"{each};" for each in registered(printer, node.body.functions if node.body else ()))
    if arguments is not None:
        text.append(f"var {arguments.printed}={printer.run('va')}(arguments);")
    text += (f"{each};" for each in setup)
    text.append(_copied(node.variables))
    text += (body, "}")
    printer.frame, printer.iterators = saved, iterators
    return head, "".join(text)


def declared_variables(printer: Printer, variables: Sequence[tuple[Binding, Binding | None]]) -> str:
    """Print the declarations of temporaries and variables at the top of a function, program or static block."""
    names = [*printer.frame.temporaries, *(binding.printed for binding, _ in variables)]
    return f"var {','.join(names)};" if names else ""


def _copied(variables: Sequence[tuple[Binding, Binding | None]]) -> str:
    """Print the values that variables take over from parameters of the same name."""
    return "".join(
        f"{binding.printed}={begins.printed};" for binding, begins in variables if begins is not None
    )


def block_body(printer: Printer, block: Block) -> str:
    """Print the statements of a block."""
    return "".join([printer.statement(each) for each in block.statements])


def _returned(printer: Printer, node: Function) -> str:
    if node.value is None:
        raise RuntimeError("a function has a body or a value")
    return f"return {printer.expression(node.value)};"


def _map(node: Function, arguments: Binding | None) -> None:
    """Note that ``arguments`` shares the values of the simple parameters, which it does in sloppy code only."""
    if arguments is None or node.strict:
        return
    for element in node.parameters:
        if type(element.target) is Name and element.target.binding is not None:
            element.target.binding.mapped = True


def _simple_parameters(printer: Printer, node: Function) -> tuple[str, list[str]]:
    """Print simple parameters, each of which is checked at entry."""
    names: list[str] = []
    setup: list[str] = []
    declared = set() if node.body is None else {each.binding.printed for each in node.body.functions}
    seen: set[str] = set()
    for element in reversed(node.parameters):
        target = element.target
        if type(target) is not Name or target.binding is None:
            raise RuntimeError("a simple parameter is a name")
        printed = target.binding.printed
        if printed in seen:
            names.append(printer.scopes.fresh())  # the last of several parameters of one name counts
            continue
        seen.add(printed)
        names.append(printed)
        if printed not in declared:
            setup.append(f"{printed}={printer.run('a')}({printed})")
    names.reverse()
    setup.reverse()
    return ",".join(names), setup


def _expanded(printer: Printer, node: Function) -> tuple[list[str], Steps, str | None]:
    """Return printed parameters of the same length, the steps that bind P's from them, and the rest parameter."""
    steps = Steps(printer, declares=True, strict=node.strict)
    names: list[str] = []
    counted = True
    for element in node.parameters:
        given = printer.scopes.fresh()
        counted = counted and element.default is None
        names.append(given if counted else f"{given}=void 0")
        steps.element(element, f"{printer.run('v')}({given})")
    rest = None
    if node.rest is not None:
        rest = printer.scopes.fresh()
        steps.bind(node.rest, f"{printer.run('va')}({rest})")
    return names, steps, rest


def _outer_parameters(printer: Printer, node: Function) -> tuple[str, list[str]]:
    """Print parameters whose defaults and patterns are expanded in the body."""
    names, steps, rest = _expanded(printer, node)
    if rest is not None:
        names.append(f"...{rest}")
    return ",".join(names), [f"let {','.join(steps.out)}"] if steps.out else []


def _inner_parameters(printer: Printer, node: Function, arguments: Binding | None) -> str:
    """Print parameters that are expanded among the parameters themselves.

    A generator evaluates them when it is called, not when it is first resumed, and ``arguments`` is not mapped. The
    steps are defaults of a pattern for the rest parameter: properties that no array has.
    """
    names, steps, rest = _expanded(printer, node)
    first: list[str] = [f"{name}=void 0" for name in printer.frame.temporaries]
    if rest is not None:
        first.append(f"{rest}={printer.run('ra')}(arguments,{len(node.parameters)})")
    if arguments is not None:
        first.append(f"{arguments.printed}={printer.run('va')}(arguments)")
    if all(element.default is None for element in node.parameters):
        # QuickJS counts a pattern for the rest in `length`, unless a default is before it.
        names.append(f"{printer.scopes.fresh()}=void 0")
    names.append(f"...{{{','.join([*first, *steps.out])}}}")
    return ",".join(names)
