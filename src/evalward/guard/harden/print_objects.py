"""Printing object literals and classes (harden.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.function_tree import Class, Function, Member
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.print_functions import block_body, code, declared_variables, registered
from evalward.guard.harden.print_targets import joined_text
from evalward.guard.harden.printer import Frame, mark, property_text, takes_name
from evalward.guard.harden.tree import Expression, Key, Object, Spread

if TYPE_CHECKING:
    from evalward.guard.harden.printer import ExpressionPrinter, Printer

_ACCESSORS: Final = {"get": 1, "set": 2}
_STATIC: Final = 4
_CLASS_WORDS: Final = frozenset({"get", "set", "static", "async"})


def _key(printer: Printer, key: Key, *, again: bool) -> tuple[str, str]:
    """Return a key as it stands in a literal, and, if it is needed ``again``, as an expression that gives it."""
    if key.value is not None:
        return property_text(key.value), string_text(key.value)
    if key.private is not None:
        if key.private.target is None:
            raise RuntimeError("a private name is resolved when its class ends")
        return key.private.target.printed, ""
    if key.computed is None:
        raise RuntimeError("a key is a name or computed")
    if not again:
        return f"[{joined_text(printer, key.computed)}]", ""
    held = printer.temporary()
    return f"[{held}={printer.run('k')}({printer.expression(key.computed)})]", held


def _method(printer: Printer, key: str, node: Function) -> str:
    head, body = code(printer, node)
    word = "async " if node.asynchronous else ""
    if node.kind in _ACCESSORS:
        word = f"{node.kind} "
    star = "*" if node.generator else ""
    return f"{word}{star}{key}({head}){body}"


def _object(printer: Printer, node: Object) -> str:
    frame = printer.frame
    before = frame.awaits, frame.yields
    pieces: list[str] = []
    methods: list[str] = []
    for each in node.properties:
        if each.key is None:
            if not isinstance(each.value, Spread):
                raise RuntimeError("a property without a key is a spread")
            pieces.append(f"...{printer.run('os')}({printer.expression(each.value.argument)})")
            continue
        if each.key.value == "__proto__" and not each.method:
            value = printer.expression(each.value)
            pieces.append(
                f'["__proto__"]:{value}' if each.shorthand else f"__proto__:{printer.run('pr')}({value})"
            )
            continue
        text, again = _key(printer, each.key, again=each.method or takes_name(each.value))
        if each.method and isinstance(each.value, Function):
            pieces.append(_method(printer, text, each.value))
            flags = _ACCESSORS.get(each.value.kind, 0)
            methods.append(f"{again},{flags},{each.value.start},{each.value.end}")
        else:
            pieces.append(f"{text}:{printer.named(each.value, again)}")
    literal = f"{{{','.join(pieces)}}}"
    if methods:
        literal = f"{printer.run('ob')}({literal},[{','.join(methods)}])"
    home = node.home.binding
    if home is None:
        return literal
    if (frame.awaits, frame.yields) != before:
        raise RefusedError("An object whose methods write to super contains await or yield.", kind="object")
    return f"({home.printed}=>({home.printed}={literal}))()"


def class_text(printer: Printer, node: Class) -> str:
    """Print a class; it is registered behind it, or in a static block where static code runs before that."""
    node.home.binding = node.inner
    heritage = "" if node.heritage is None else f" extends {_heritage(printer, node.heritage)}"
    pieces: list[str] = []
    methods: list[str] = []
    fields = static_code = False
    naming: list[str] = []
    for member in node.members:
        takes = member.function is not None or (member.value is not None and takes_name(member.value))
        text, again = ("", "") if member.key is None else _key(printer, member.key, again=takes)
        if member.key is not None and member.key.value in _CLASS_WORDS:
            text = string_text(member.key.value or "")
        word = "static " if member.static else ""
        if member.static and member.key is not None:
            if member.key.value == "name":
                naming.append("true")
            elif member.key.computed is not None and member.function is not None:
                naming.append(f'{again}==="name"')
        if member.function is not None:
            pieces.append(f"{mark(member.line)}{word}{_method(printer, text, member.function)}")
            if member.function.kind != "constructor" and again:
                flags = _ACCESSORS.get(member.function.kind, 0) + (_STATIC if member.static else 0)
                methods.append(f"{again},{flags},{member.function.start},{member.function.end}")
            continue
        static_code = static_code or member.static
        if member.block is not None:
            pieces.append(f"{mark(member.line)}static{{{_static_block(printer, member)}}}")
            continue
        fields = fields or (not member.static and member.key is not None and member.key.private is None)
        if member.key is not None and member.key.private is not None:
            again = string_text(member.key.private.name)
        value = "" if member.value is None else f"={_initial(printer, member.value, again)}"
        pieces.append(f"{mark(member.line)}{word}{text}{value};")
    if fields and node.heritage is not None:
        pieces.insert(0, f"#{printer.prefix}={printer.run('fg')}(this);")
    name = string_text(node.name) if node.name is not None else (node.given or '""')
    if naming:
        name = f"({'||'.join(naming)}?void 0:{name})"
    place = f"{name},{node.start},{node.end},[{','.join(methods)}]"
    inner = node.home.binding
    own = "" if inner is None else f" {inner.printed}"
    if static_code:
        pieces.insert(0, f"static{{{printer.run('cl')}(this,{place});}}")
        return f"(class{own}{heritage}{{{''.join(pieces)}}})"
    return f"{printer.run('cl')}(class{own}{heritage}{{{''.join(pieces)}}},{place})"


def _heritage(printer: Printer, node: Expression) -> str:
    return f"({printer.expression(node)})"


def _initial(printer: Printer, node: Expression, name: str) -> str:
    """Print the value of a field; what it holds on the way is declared in a function of its own."""
    saved, iterators = printer.frame, printer.iterators
    frame = printer.frame = Frame()
    printer.iterators = []
    text = printer.named(node, name or '""')
    printer.frame, printer.iterators = saved, iterators
    if not frame.temporaries:
        return text
    return f"(()=>{{var {','.join(frame.temporaries)};return {text};}})()"


def _static_block(printer: Printer, member: Member) -> str:
    if member.block is None:
        raise RuntimeError("only a static block is printed as one")
    saved, iterators = printer.frame, printer.iterators
    printer.frame = Frame()
    printer.iterators = []
    body = block_body(printer, member.block.body)
    functions = "".join(f"{each};" for each in registered(printer, member.block.body.functions))
    text = declared_variables(printer, member.block.variables) + functions + body
    printer.frame, printer.iterators = saved, iterators
    return text


HANDLERS: Final[dict[type[Expression], ExpressionPrinter]] = {Object: _object, Class: class_text}
