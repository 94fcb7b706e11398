"""Printing patterns as the steps that they stand for (ECMA-262 §8.6.2, §13.15.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.harden.key_kinds import ASKED, may_be_prototype
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.print_chains import read_text
from evalward.guard.harden.print_targets import assignment, prepared
from evalward.guard.harden.printer import member_text
from evalward.guard.harden.tree import (
    ArrayPattern,
    Chain,
    Element,
    Expression,
    Key,
    Name,
    ObjectPattern,
    Paren,
)

if TYPE_CHECKING:
    from evalward.guard.harden.printer import Printer


class Steps:
    """The steps of one pattern in order.

    Where names are declared each step is ``name=value`` of a list of declarators, else an expression.
    """

    __slots__ = ("_printer", "declares", "out", "strict")

    def __init__(self, printer: Printer, *, declares: bool, strict: bool) -> None:
        self._printer = printer
        self.declares = declares
        self.strict = strict
        self.out: list[str] = []

    def bind(self, target: Expression, text: str) -> None:
        """Give ``target`` the value ``text``."""
        while type(target) is Paren:
            target = target.inner
        if type(target) is ArrayPattern:
            self._array(target, text)
        elif type(target) is ObjectPattern:
            self._object(target, text)
        elif type(target) is Name and self.declares:
            if target.binding is None:
                raise RuntimeError("a declared name has a binding")
            self.out.append(f"{target.binding.printed}={text}")
        else:
            self._do(assignment(self._printer, target, text, strict=self.strict))

    def _hold(self, text: str) -> str:
        """Keep a value in a variable."""
        if self.declares:
            name = self._printer.scopes.fresh()
            self.out.append(f"{name}={text}")
            return name
        name = self._printer.temporary()
        self.out.append(f"({name}={text})")
        return name

    def _do(self, text: str) -> None:
        if self.declares:
            self._hold(text)
        else:
            self.out.append(text)

    def _guarded(self, text: str, before: tuple[int, int]) -> str:
        """Return ``text`` so that the iterators that are open are closed when it throws (ECMA-262 §7.4.11)."""
        printer = self._printer
        frame = printer.frame
        if not printer.iterators:
            return text
        if frame.yields != before[1]:
            raise RefusedError("A pattern for an iterator contains yield.", kind="yield_expression")
        awaits = frame.awaits != before[0]
        for iterator in reversed(printer.iterators):
            if awaits:
                text = f"(await {printer.run('iga')}(async()=>({text}),{iterator}))"
            else:
                text = f"{printer.run('ig')}(()=>({text}),{iterator})"
        return text

    def element(self, element: Element, text: str) -> None:
        """Bind one element, whose value ``text`` gives."""
        printer = self._printer
        before = printer.frame.awaits, printer.frame.yields
        target, default = element.target, element.default
        while type(target) is Paren:
            target = target.inner
        put = None
        if type(target) is Chain:
            steps, put = prepared(printer, target, strict=self.strict)
            for step in steps:
                self._do(self._guarded(step, before))
        simple = default is None and type(target) is Name
        if default is not None:
            held = printer.temporary()
            value = printer.named(default, string_text(target.name)) if type(target) is Name else None
            value = printer.expression(default) if value is None else value
            text = f"(({held}={text})===void 0?{value}:{held})"
        if put is not None:
            self._do(self._guarded(put(text), before))
        elif type(target) is Name and not self.declares:
            self._do(self._guarded(assignment(printer, target, text, strict=self.strict), before))
        else:
            self.bind(target, text if simple else self._guarded(text, before))

    def _array(self, pattern: ArrayPattern, text: str) -> None:
        printer = self._printer
        before = printer.frame.awaits, printer.frame.yields
        iterator = self._hold(self._guarded(f"{printer.run('it')}({text})", before))
        printer.iterators.append(iterator)
        for element in pattern.elements:
            if element is None:
                self._do(self._outer(f"{iterator}.n()"))
            else:
                self.element(element, f"{iterator}.n()")
        if pattern.rest is not None:
            self.element(Element(pattern.rest), f"{iterator}.r()")
        printer.iterators.pop()
        if pattern.rest is None:
            self._do(self._guarded(f"{iterator}.c()", (printer.frame.awaits, printer.frame.yields)))

    def _outer(self, text: str) -> str:
        return self._guarded(text, (self._printer.frame.awaits, self._printer.frame.yields))

    def _object(self, pattern: ObjectPattern, text: str) -> None:
        printer = self._printer
        held = self._hold(self._outer(f"{printer.run('need')}({text})"))
        keys: list[str] = []
        for key, element in pattern.properties:
            text = self._property(held, key, keys, remember=pattern.rest is not None)
            self.element(element, text)
        if pattern.rest is not None:
            self.element(Element(pattern.rest), f"{printer.run('om')}({held},[{','.join(keys)}])")

    def _property(self, held: str, key: Key, keys: list[str], *, remember: bool) -> str:
        printer = self._printer
        if key.value is not None:
            if remember:
                keys.append(string_text(key.value))
            name = string_text(key.value)
            accessor = key.value in ASKED
            read = read_text(printer, held, name, stable=True) if accessor else member_text(held, key.value)
            return f"{printer.run('v')}({read})"
        if key.computed is None:
            raise RefusedError("A private name in a pattern.", kind="object_pattern")
        before = printer.frame.awaits, printer.frame.yields
        text = printer.expression(key.computed)
        name = self._hold(self._guarded(f"{printer.run('k')}({text})" if remember else text, before))
        keys.append(name)
        read = (
            read_text(printer, held, name, stable=True)
            if may_be_prototype(key.computed)
            else f"{held}[{name}]"
        )
        return f"{printer.run('v')}({read})"
