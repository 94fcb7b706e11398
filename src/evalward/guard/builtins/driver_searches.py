"""Selenium's searches: a locator may be a script that finds the element (selenium-webdriver, `By.js`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.driver_options import has_option
from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.flow import Flow
from evalward.guard.interpret.atom_order import objects_of

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Value
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_SEARCHES = ("selenium.driver.findElement", "selenium.driver.findElements")
_INNER = ("selenium.element.findElement", "selenium.element.findElements")


def _find(machine: Machine, call: Call) -> Value:
    """Find elements by `{ css: … }` and the like; `{ js: … }` is evaluated in the page, a function in the driver."""
    if has_option(machine, call.arg(0), "js", call.span):
        note = "the locator is a script that the page evaluates"
        machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
    machine.use(objects_of(call.arg(0)), Flow.CALLBACK, call.span)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize(machine.catalogue.get(call.path).result, call.span.start)


TRANSFER: dict[str, Transfer] = dict.fromkeys((*_SEARCHES, *_INNER), _find)
