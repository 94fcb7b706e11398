"""Printing assignments to names, members and ``super`` (ECMA-262 §13.15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden.key_kinds import is_number, may_be_function, may_be_prototype
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.print_chains import denial, index_text, name, object_of, private_text, this_text
from evalward.guard.harden.printer import member_text
from evalward.guard.harden.scopes import DENIED_NAMES, Binding
from evalward.guard.harden.tree import Chain, Expression, Link, Literal, Name, Paren, Super, Text, Update

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.harden.printer import Printer
    from evalward.guard.harden.tree import Assign

LOGICAL: Final = frozenset({"&&=", "||=", "??="})


def assignment(printer: Printer, target: Expression, text: str, *, strict: bool) -> str:
    """Print ``target = text``."""
    if type(target) is Name:
        return _put_name(printer, target, text, strict=strict)
    if type(target) is not Chain:
        raise RefusedError("This is no target of an assignment.")
    link = target.links[-1]
    if _is_super(target):
        return _put_super(printer, target, _key(printer, link), text, strict=strict)
    return f"({_place(printer, target)}={text})"


def prepared(printer: Printer, target: Chain, *, strict: bool) -> tuple[list[str], Callable[[str], str]]:
    """Return the steps that evaluate object and key of a target, and how its value is put."""
    link = target.links[-1]
    steps: list[str] = []
    if _is_super(target):
        key = _key(printer, link)
        if link.index is not None and not isinstance(link.index, Text | Literal):
            held = printer.temporary()
            steps.append(f"({held}={key})")
            key = held
        return steps, lambda text: _put_super(printer, target, key, text, strict=strict)
    held = printer.temporary()
    steps.append(f"({held}={_object(printer, target)})")
    place = held if link.private is not None else f"{printer.run('ws')}({held})"
    if link.index is not None:
        index = printer.temporary()
        steps.append(f"({index}={index_text(printer, link)})")
        checked = index if is_number(link.index) else f"{printer.run('kw')}({index})"
        return steps, lambda text: f"({place}[{checked}]={text})"
    return steps, lambda text: f"({_member(printer, place, link)}={text})"


def _object(printer: Printer, target: Chain) -> str:
    return object_of(printer, target, [])


def _member(printer: Printer, place: str, link: Link) -> str:
    """Print a member that is written; only `k` decides about ``__proto__``."""
    if link.private is not None:
        return f"{place}.{private_text(link)}"
    if link.name == "__proto__":
        return f'{place}[{printer.run("k")}("__proto__")]'
    return member_text(place, link.name or "")


def _place(printer: Printer, target: Chain) -> str:
    """Print a member as the place of a write."""
    link = target.links[-1]
    base = _object(printer, target)
    if link.private is not None:
        return f"{base}.{private_text(link)}"
    writable = f"{printer.run('ws')}({base})"
    if link.index is not None:
        return f"{writable}[{_written_index(printer, link.index)}]"
    return _member(printer, writable, link)


def _written_index(printer: Printer, index: Expression) -> str:
    """Print the key of a write: it is converted and checked unless it is a number or a string in the text."""
    text = printer.expression(index)
    return f"{printer.run('kw')}({text})" if may_be_prototype(index) else text


def _put_name(printer: Printer, target: Name, text: str, *, strict: bool) -> str:
    if target.binding is not None:
        return f"({target.binding.printed}={text})"
    if target.name in DENIED_NAMES:
        return denial(printer, target)
    return f"{printer.run('gs')}({string_text(target.name)},{text},{_flag(strict=strict)})"


def put_binding(printer: Printer, target: Name, text: str) -> str:
    """Print the assignment of a block's function to the variable of its name, in sloppy code."""
    return _put_name(printer, target, text, strict=False)


def _flag(*, strict: bool) -> str:
    return "true" if strict else "false"


def _is_super(target: Chain) -> bool:
    return len(target.links) == 1 and type(target.base) is Super


def _key(printer: Printer, link: Link) -> str:
    if link.name is not None:
        return string_text(link.name)
    if link.private is not None:
        raise RefusedError("A private name of super.", kind="super")
    return index_text(printer, link)


def _put_super(printer: Printer, target: Chain, key: str, text: str, *, strict: bool) -> str:
    base = target.base
    if type(base) is not Super or base.home is None:
        raise RefusedError("A write to super outside of a class or object.", kind="super")
    home = base.home
    if home.binding is None:
        home.binding = Binding("", printer.scopes.fresh(), "home")
    place = home.binding.printed
    if home.is_class and not base.static:
        place += ".prototype"
    self = this_text(printer, strict=base.strict)
    return f"{printer.run('sw')}({place},{key},{text},{self},{_flag(strict=strict)})"


def joined_text(printer: Printer, node: Expression) -> str:
    """Print an operand of ``+`` or of a template: what is a function of the payload's becomes its text in P."""
    text = printer.expression(node)
    return f"{printer.run('p')}({text})" if may_be_function(node) else text


def compound(printer: Printer, node: Assign) -> str:
    """Print an assignment with an operator."""
    target = node.target
    while type(target) is Paren:
        target = target.inner
    operator = node.operator
    logical = operator in LOGICAL
    if type(target) is Name:
        named = logical and type(node.target) is Name
        value = (
            printer.named(node.value, string_text(target.name)) if named else printer.expression(node.value)
        )
        if operator == "+=":
            value = joined_text(printer, node.value)
            return _put_name(
                printer, target, f"({joined_text(printer, target)} + {value})", strict=node.strict
            )
        if target.binding is not None:
            done = f"({target.binding.printed}{operator}{value})"
            return f"{printer.run('v')}{done}" if logical and target.binding.mapped else done
        read = name(printer, target)
        if logical:
            return f"({read}{operator[:-1]}{_put_name(printer, target, value, strict=node.strict)})"
        return _put_name(printer, target, f"({read}{operator[:-1]}{value})", strict=node.strict)
    if type(target) is not Chain:
        raise RefusedError("This is no target of an assignment.")
    if _is_super(target):
        key, first = _key_once(printer, target.links[-1])
        read = f"{printer.run('v')}(super[{first}])"
        value = printer.expression(node.value)
        if logical:
            return f"({read}{operator[:-1]}{_put_super(printer, target, key, value, strict=node.strict)})"
        return _put_super(printer, target, key, f"({read}{operator[:-1]}{value})", strict=node.strict)
    if not logical:
        place = _place(printer, target)
        value = joined_text(printer, node.value) if operator == "+=" else printer.expression(node.value)
        return f"({place}{operator}{value})"
    link = target.links[-1]
    held = printer.temporary()
    base = f"({held}={_object(printer, target)})"
    value = ""
    if link.private is not None:
        value = printer.expression(node.value)
        return f"({base}.{private_text(link)}{operator[:-1]}({held}.{private_text(link)}={value}))"
    writable = f"{printer.run('ws')}({held})"
    if link.index is not None:
        key, first = _key_once(printer, link)
        value = printer.expression(node.value)
        return f"({printer.run('v')}({base}[{first}]){operator[:-1]}({writable}[{key}]={value}))"
    value = printer.expression(node.value)
    if link.name == "__proto__":
        base = f"{printer.run('r')}({base},{string_text(link.name)})"
    read = f"{printer.run('v')}({member_text(base, link.name or '')})"
    return f"({read}{operator[:-1]}({_member(printer, writable, link)}={value}))"


def _key_once(printer: Printer, link: Link) -> tuple[str, str]:
    """Return the text of a key that is used twice, and of its first use; only `kw` decides about ``__proto__``."""
    key = _key(printer, link)
    if link.name not in (None, "__proto__"):
        return key, key
    if isinstance(link.index, Text | Literal) and not may_be_prototype(link.index):
        return key, key
    held = printer.temporary()
    return held, f"{held}={printer.run('kw')}({key})"


def update(printer: Printer, node: Update) -> str:
    """Print ``++`` or ``--``."""
    target = node.target
    while type(target) is Paren:
        target = target.inner
    operator = node.operator
    if type(target) is Name and target.binding is not None:
        place = target.binding.printed
    elif type(target) is Chain and not _is_super(target):
        place = _place(printer, target)
    else:
        return _update_by_value(printer, node, target)
    return f"({operator}{place})" if node.prefix else f"({place}{operator})"


def _update_by_value(printer: Printer, node: Update, target: Expression) -> str:
    """Print an update of a free name or of ``super``: read, count in a variable, write."""
    count = printer.temporary()
    if type(target) is Name:
        if target.name in DENIED_NAMES:
            return denial(printer, target)
        read = name(printer, target)
        put = _put_name(printer, target, count, strict=node.strict)
    elif type(target) is Chain:
        key, first = _key_once(printer, target.links[-1])
        read = f"{printer.run('v')}(super[{first}])"
        put = _put_super(printer, target, key, count, strict=node.strict)
    else:
        raise RefusedError("This is no target of an update.")
    if node.prefix:
        return f"({count}={read},{node.operator}{count},{put})"
    old = printer.temporary()
    return f"({count}={read},{old}={count}{node.operator},{put},{old})"
