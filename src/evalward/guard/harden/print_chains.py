"""Printing chains: what every read and call of P becomes (harden.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.harden import print_calls
from evalward.guard.harden.function_tree import Function
from evalward.guard.harden.key_kinds import ASKED, may_be_prototype
from evalward.guard.harden.literal_text import name_text, string_text
from evalward.guard.harden.printer import member_text
from evalward.guard.harden.scopes import DENIED_NAMES
from evalward.guard.harden.tree import (
    Chain,
    Expression,
    Link,
    Literal,
    Name,
    Paren,
    Super,
    Text,
)

if TYPE_CHECKING:
    from evalward.guard.harden.printer import ExpressionPrinter, Printer


def name(printer: Printer, node: Name) -> str:
    """Print the value of a name."""
    if node.binding is not None:
        return f"{printer.run('v')}({node.binding.printed})" if node.binding.mapped else node.binding.printed
    if node.name == "undefined":
        return "(void 0)"
    raw = free(printer, node)
    if node.name in DENIED_NAMES and raw != node.name:
        return raw
    if node.name in printer.bound:
        return f"{printer.run('b')}({raw},{string_text(node.name)})"
    return f"{printer.run('v')}({raw})"


def free(printer: Printer, node: Name) -> str:
    """Print a free name without a check."""
    if node.name == "arguments" and printer.has_arguments:
        printer.uses_arguments = True
        return node.name
    return denial(printer, node) if node.name in DENIED_NAMES else name_text(node.name)


def denial(printer: Printer, node: Name) -> str:
    """Print the denial of a name that is never printed."""
    return f"{printer.run('d')}({string_text(node.name)})"


def this_text(printer: Printer, *, strict: bool) -> str:
    """Print ``this``."""
    return f"{printer.run('v' if strict else 't')}(this)"


def chain(printer: Printer, node: Chain) -> str:
    """Print a chain; the conditions of its ``?.`` come first."""
    conditions: list[str] = []
    text = value(printer, node, conditions)
    return conditional(conditions, text) if conditions else text


def conditional(conditions: list[str], text: str, otherwise: str = "void 0") -> str:
    """Return ``text`` unless one of the conditions holds."""
    if not conditions:
        return text
    return f"({''.join(f'{each}?{otherwise}:' for each in conditions)}{text})"


def _flat(node: Chain) -> tuple[Expression, list[Link]]:
    """Return base and links, with those of a chain in parentheses: only ``?.`` makes them matter."""
    base, links = node.base, node.links
    while type(base) is Paren:
        inner: Expression = base
        while type(inner) is Paren:
            inner = inner.inner
        if type(inner) is not Chain or any(link.optional for link in inner.links):
            break
        base, links = inner.base, [*inner.links, *links]
    return base, links


def value(printer: Printer, node: Chain, conditions: list[str]) -> str:
    """Print the value of a chain whose ``?.`` go to ``conditions``."""
    base, links = _flat(node)
    return _value(printer, base, links, conditions)


def object_of(printer: Printer, node: Chain, conditions: list[str]) -> str:
    """Print the object of the chain's last link, which is a member."""
    base, links = _flat(node)
    return _value(printer, base, links[:-1], conditions)


# One loop over the links: a part of a chain may need what the part before it was.
def _value(printer: Printer, base: Expression, links: list[Link], conditions: list[str]) -> str:
    if not links:
        return _operand(printer, base)
    callee: print_calls.Callee | None = None
    text = ""
    last = len(links) - 1
    called = _calls(links[0])
    for index, link in enumerate(links):
        calls = called
        called = index < last and _calls(links[index + 1])
        if calls:
            if callee is None:
                direct = _direct(printer, base, link) if index == 0 else None
                if direct is not None:
                    text = direct
                    continue
                callee = _first(printer, base) if index == 0 else print_calls.Callee(text, "void 0")
            text = print_calls.call(printer, callee, link, conditions)
            callee = None
            continue
        if index == 0 and type(base) is Super:
            text = _super_member(printer, link)
            receiver = this_text(printer, strict=base.strict)
            if called:
                callee = print_calls.Callee(text, receiver)
        else:
            if index == 0:
                text = _operand(printer, base)
            if link.optional:
                text = print_calls.is_nullish(printer, text, conditions)
            if not called:
                text = _member(printer, text, link)
            elif link.optional or (index == 0 and _is_stable(base)):
                callee = print_calls.Callee(_callable(printer, text, link), text)
            else:
                held = _holder(printer, link)
                callee = print_calls.Callee(_callable(printer, f"({held}={text})", link), held)
        if not called:
            text = _read(printer, text, link)
    return text


def _calls(link: Link) -> bool:
    return link.arguments is not None or link.quasi is not None


def _is_stable(base: Expression) -> bool:
    """Say whether to print the base a second time gives the same value."""
    return (
        type(base) is Name
        and base.binding is not None
        and base.binding.writes <= 1
        and not base.binding.mapped
    )


def _holder(printer: Printer, link: Link) -> str:
    """Return a variable for the object of a call; what the key calls must not assign it."""
    index = link.index
    if index is None or isinstance(index, Text | Literal) or (type(index) is Name and index.binding):
        return printer.base()
    return printer.temporary()


def _operand(printer: Printer, base: Expression) -> str:
    text = printer.expression(base)
    return f"({text})" if isinstance(base, Literal) or text[0] in "{0123456789" else text


def _member(printer: Printer, base: str, link: Link) -> str:
    if link.private is not None:
        return f"{base}.{private_text(link)}"
    if link.name is not None and link.name not in ASKED:
        return member_text(base, link.name)
    index = link.index
    key = string_text(link.name) if link.name is not None else index_text(printer, link)
    if index is not None and not may_be_prototype(index):
        return f"{base}[{key}]"
    return read_text(printer, base, key, stable=link.name is not None or _is_local(index))


def _is_local(node: Expression | None) -> bool:
    """Say whether a key is a variable of the payload's or a string: to print it twice gives the same value."""
    return type(node) is Text or (type(node) is Name and node.binding is not None and not node.binding.mapped)


def read_text(printer: Printer, base: str, key: str, *, stable: bool) -> str:
    """Print a read whose key may be ``__proto__``: then another object answers instead of the realm's accessor."""
    if stable:
        return f"{printer.run('r')}({base},{key})[{key}]"
    held = printer.key()
    return f"{printer.run('r')}({base},{held}={key})[{held}]"


def _callable(printer: Printer, base: str, link: Link) -> str:
    """Print a member that is called: raw, but a private method is registered when it is read."""
    return _registered(printer, _member(printer, base, link), link)


def _registered(printer: Printer, text: str, link: Link) -> str:
    """Print a private member that was read; a method, which no descriptor shows, is registered with its name."""
    if link.private is None or link.private.target is None or not link.private.target.method:
        return text
    return f"{printer.run('pm')}({text},{string_text(link.private.name)})"


def private_text(link: Link) -> str:
    """Print the private name of a link."""
    if link.private is None or link.private.target is None:
        raise RuntimeError("a private name is resolved when its class ends")
    return link.private.target.printed


def index_text(printer: Printer, link: Link) -> str:
    """Print the index of a link."""
    if link.index is None:
        raise RuntimeError("only a link with an index is asked for it")
    return printer.expression(link.index)


def _super_member(printer: Printer, link: Link) -> str:
    if link.name is not None:
        if link.name == "__proto__":
            return f"super[{printer.run('k')}({string_text(link.name)})]"
        return member_text("super", link.name)
    if link.index is None or not may_be_prototype(link.index):
        return _member(printer, "super", link)
    return f"super[{printer.run('k')}({index_text(printer, link)})]"


def _read(printer: Printer, raw: str, link: Link) -> str:
    if link.private is not None:
        return _registered(printer, raw, link)
    return f"{printer.run('v')}({raw})"


def _direct(printer: Printer, base: Expression, link: Link) -> str | None:
    """Print a call of a function that is the payload's own without a check, None if it may be another."""
    if type(base) is Super and link.arguments is not None:
        return f"{printer.run('v')}(super({print_calls.arguments_text(printer, link.arguments)}))"
    if link.optional or link.arguments is None:
        return None
    inner = base
    while type(inner) is Paren:
        inner = inner.inner
    own = type(inner) is Name and inner.binding is not None and inner.binding.own
    if not own and type(inner) is not Function:
        return None
    return f"{printer.expression(inner)}({print_calls.arguments_text(printer, link.arguments)})"


def _first(printer: Printer, base: Expression) -> print_calls.Callee:
    """Return the callee that is the base of a chain."""
    inner = base
    while type(inner) is Paren:
        inner = inner.inner
    if type(inner) is Name and inner.binding is None and inner.name != "undefined":
        return print_calls.Callee(free(printer, inner), "void 0")
    if type(inner) is Chain and inner is not base and not _calls(inner.links[-1]):
        return _in_parentheses(printer, inner)
    return print_calls.Callee(printer.expression(base), "void 0")


def _in_parentheses(printer: Printer, node: Chain) -> print_calls.Callee:
    """Return the callee ``(a?.b)``, which keeps its object as ``this``."""
    conditions: list[str] = []
    base, links = _flat(node)
    held, function = printer.temporary(), printer.temporary()
    last = links[-1]
    if len(links) == 1 and type(base) is Super:
        return print_calls.Callee(_super_member(printer, last), this_text(printer, strict=base.strict))
    text = _value(printer, base, links[:-1], conditions)
    if last.optional:
        text = print_calls.is_nullish(printer, text, conditions)
    raw = _callable(printer, f"({held}={text})", last)
    return print_calls.Callee(
        f"({function}=void 0,{held}=void 0,{conditional(conditions, f'({function}={raw})')})", held
    )


HANDLERS: Final[dict[type[Expression], ExpressionPrinter]] = {
    Name: name,
    Chain: chain,
}
