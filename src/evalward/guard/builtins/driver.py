"""Functions of drivers: evaluation, navigation and content (Playwright, Puppeteer, Electron)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins.document import OF_SCRIPTS, is_plain
from evalward.guard.builtins.driver_handles import behind_handles, handle
from evalward.guard.builtins.driver_travel import free_of_closure
from evalward.guard.builtins.timers import is_turned_into_text
from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    HOST_HELD_TEXT,
    NULL,
    PLAIN_ELEMENT,
    SPELLS_ANY_NAME,
    STRING_UNKNOWNS,
    TAINTED_DATA,
    UNKNOWN,
    UNKNOWN_PLAIN,
    V_TAINTED_DATA,
    V_UNDEFINED,
    V_UNKNOWN,
    Known,
    Primitive,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.slots import LOGGED_VALUES, MAY_LOCATE_SCRIPTS, SYMBOL_TO_PRIMITIVE
from evalward.guard.domain.values import join
from evalward.guard.interpret.held_texts import may_run

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_AS_TEXT = frozenset({"toString", SYMBOL_TO_PRIMITIVE, "valueOf"})
_ELECTRON_HANDLES = frozenset({"playwright.electronApp.evaluateHandle", "playwright.handle.evaluateHandle"})
_DRIVERS = ("playwright.", "selenium.")
_HANDLES = ("evaluateHandle", "waitForFunction")
_LOCATOR = known("playwright.locator")
_UNRESOLVED = frozenset({UNKNOWN, UNKNOWN_PLAIN, HOST_HELD_TEXT})
_TEXTUAL = STRING_UNKNOWNS | {TAINTED_DATA}


def _is_page(value: Value) -> bool:
    return any(type(atom) is Known and atom.path.startswith(_DRIVERS) for atom in value)


def _locate(machine: Machine, call: Call) -> Value:
    """Find elements: what a selector of scripts finds may be one, wherever the handle goes."""
    for text in machine.to_string(call.arg(0), call.span):
        if text in SPELLS_ANY_NAME or (type(text) is str and OF_SCRIPTS.search(text)):
            machine.patches.put(MAY_LOCATE_SCRIPTS, V_UNDEFINED)
    if call.path.endswith(".locator") and any(isinstance(atom, HeapObject) for atom in call.arg(0)):
        _evaluate(machine, call)  # Puppeteer's finds what a function of the page gives
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize(machine.catalogue.get(call.path).result, call.span.start)


def _elements(machine: Machine, selectors: Value) -> Value:
    """Return the elements that a page's function is given."""
    scripts = machine.patches.has(MAY_LOCATE_SCRIPTS) or any(
        type(text) is str and OF_SCRIPTS.search(text) for text in selectors
    )
    plain = bool(selectors) and all(type(text) is str and is_plain(text) for text in selectors)
    made = V_TAINTED_DATA | of(PLAIN_ELEMENT if plain else known("Element"))
    return made | of(known("ScriptElement")) if scripts else made


def _given(machine: Machine, call: Call, position: int) -> list[Value]:
    """Return the arguments of a function that a page evaluates: the selected elements, then copies of the arguments."""
    held = [atom for atom in call.this if isinstance(atom, HeapObject)] if "handle" in call.path else []
    for each in held:
        machine.observe(each)
    if held:
        selected = [each.elements for each in held[:1]]
    elif "electronApp" in call.path:
        selected = [of(known("electron"))]
    elif "locator" in call.path or call.path.endswith("$eval"):
        elements = _elements(machine, call.arg(0) if call.path.endswith("$eval") else frozenset())
        several = call.path.endswith(("$$eval", "evaluateAll"))
        selected = [_list(machine, call, elements) if several else elements]
    else:
        selected = []
    copies = [
        value
        if value and all(type(atom) is str or type(atom) is Primitive for atom in value)
        else value | V_TAINTED_DATA | behind_handles(machine, value) | _located(machine, value)
        for value in call.args[position + 1 :]
    ]
    given = [*selected, *copies, V_TAINTED_DATA, V_TAINTED_DATA, V_TAINTED_DATA]
    logged = machine.patches.read(LOGGED_VALUES)
    # A message of the console has handles of what was logged.
    return [value | logged for value in given] if logged else given


def _list(machine: Machine, call: Call, elements: Value) -> Value:
    made = machine.allocate("array", call.span.start, "selected")
    machine.inexact(made)
    machine.put_element(made, elements)
    return V_TAINTED_DATA | of(made)


def _located(machine: Machine, value: Value) -> Value:
    """Return the elements behind locators and handles of elements."""
    return _elements(machine, frozenset()) if _LOCATOR in value else frozenset()


def _is_xpath(call: Call) -> bool:
    """Whether a call of an unknown object in a page has the arguments of ``Document.evaluate`` (DOM Standard §9.2)."""
    return call.path.endswith(".evaluate") and not _is_page(call.this) and NULL in call.arg(2)


def _evaluate(machine: Machine, call: Call) -> Value:
    """``page.evaluate`` and similar functions: a function is called, text is nested evaluation."""
    if machine.in_page and _is_xpath(call):
        machine.leak(call.all(), Flow.ARGUMENT, call.span)
        return V_UNKNOWN
    position = 1 if call.path.rpartition(".")[2] in {"$eval", "$$eval"} else 0
    code, given = call.arg(position), V_UNDEFINED
    for atom in code:
        if isinstance(atom, HeapObject) and atom.callable:
            free_of_closure(machine, atom, call.span)
            result = machine.call(of(atom), V_UNDEFINED, _given(machine, call, position), call.span)
            given = join(given, machine.await_value(result, call.span))
            machine.hold((given,))  # what one page gives, another is given
            machine.tell((machine.read(machine.thrown),))
            machine.observe(atom)
            if atom.kind == "class" or _says_its_text(machine, atom):
                note = (
                    "the page evaluates a class" if atom.kind == "class" else "a function says its own text"
                )
                machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
        elif type(atom) is str or atom in _TEXTUAL or (machine.strict and not isinstance(atom, HeapObject)):
            machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, "text is evaluated in a page")
        elif not isinstance(atom, HeapObject) and _may_be_given_text(machine, atom):
            note = "what is evaluated may be a text that the payload gave to the page"
            machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
        elif isinstance(atom, HeapObject) and _is_driver(machine, call):
            _judge_object(machine, atom, call)
    machine.use(code, Flow.CALLBACK, call.span)
    for value in (*call.args[position + 1 :], call.rest):
        machine.leak(value, Flow.ARGUMENT, call.span)
    made = machine.allocate("promise", call.span.start, "evaluated")
    if call.path in _ELECTRON_HANDLES or (call.path.endswith(_HANDLES) and _holds_code(machine, given)):
        machine.put_element(made, handle(machine, call, given))
    else:
        machine.put_element(
            made,
            (V_TAINTED_DATA | V_UNKNOWN if call.path.endswith("Handle") else V_TAINTED_DATA)
            | (given & SPELLS_ANY_NAME),
        )
    return of(made)


def _is_driver(machine: Machine, call: Call) -> bool:
    """Whether the receiver may be a driver's: any object may be, where the code runs outside a page."""
    return not machine.in_page or _is_page(call.this)


def _judge_object(machine: Machine, code: HeapObject, call: Call) -> None:
    """Report an object that is given for a function: what is none is turned into text, which is evaluated."""
    if code.kind == "proxy":
        note = "a proxy says itself what text of it is evaluated"
        machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
    elif is_turned_into_text(code, machine):
        machine.to_string(of(code), call.span)
        machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, "text is evaluated in a page")


def _may_be_given_text(machine: Machine, code: Atom) -> bool:
    """Whether an unknown value may be code that the payload gave to the page or its driver before."""
    return code in _UNRESOLVED and any(
        type(text) is str and may_run(text) for text in machine.held() | machine.told()
    )


def _filter(machine: Machine, call: Call) -> Value:
    """``locator.filter`` and ``map`` of Puppeteer evaluate a function or text; that of Playwright takes options."""
    if any(
        not isinstance(atom, HeapObject) or atom.callable or _has_text(machine, atom) for atom in call.arg(0)
    ):
        _evaluate(machine, call)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return of(_LOCATOR)


def _has_text(machine: Machine, given: HeapObject) -> bool:
    """Whether an object has a text of its own, which options have not: a list, an instance, a conversion."""
    return given.kind != "object" or bool(given.prototype) or _says_its_text(machine, given)


def _says_its_text(machine: Machine, function: HeapObject) -> bool:
    """Whether a function, or what it inherits from, has a conversion of its own: a driver asks for its text."""
    pending, seen = [function], {function}
    while pending:
        each = pending.pop()
        machine.observe(each)
        if not _AS_TEXT.isdisjoint(each.properties) or not _AS_TEXT.isdisjoint(each.getters):
            return True
        if each.extensible and any(isinstance(atom, HeapObject) and atom.callable for atom in each.elements):
            return True  # set by a key that is not resolved
        above = [parent for parent in each.prototype if isinstance(parent, HeapObject) and parent not in seen]
        seen.update(above)
        pending.extend(above)
    return False


def _holds_code(machine: Machine, given: Value) -> bool:
    """Whether a page's function gives its driver a handle on more than data and elements."""
    return any(
        isinstance(atom, HeapObject)
        or (type(atom) is Known and (atom.label is not None or machine.catalogue.get(atom.path).callable))
        for atom in given
    )


def _expose(machine: Machine, call: Call) -> Value:
    """``page.exposeFunction``: the page calls it with any arguments; a binding gets the page as its first one."""
    source = machine.allocate("object", call.span.start, "source")
    machine.doubt(source, ("page", "context", "frame"))  # in no promised order
    for name in ("page", "context", "frame"):
        machine.put(source, name, of(known(f"playwright.{'page' if name == 'frame' else name}")))
    given = [of(source)] if call.path.endswith("Binding") else []
    machine.use(call.arg(1), Flow.CALLBACK, call.span)
    result = machine.call(
        call.arg(1), V_UNDEFINED, [*given, V_TAINTED_DATA, V_TAINTED_DATA, V_TAINTED_DATA], call.span
    )
    result = machine.await_value(result, call.span)
    machine.hold((result,))
    _bind_in_page(machine, call, result)
    return machine.materialize("promise:undefined", call.span.start)


def _bind_in_page(machine: Machine, call: Call, result: Value) -> None:
    """Give the page's global object a function, whose calls give a promise of the result."""
    promise = machine.allocate("promise", call.span.start, "exposed result")
    machine.put_element(promise, result)
    exposed = machine.allocate("native", call.span.start, "exposed")
    machine.put_element(exposed, of(promise))
    for name in call.arg(0):
        if type(name) is str:
            machine.set(of(known("globalThis")), name, of(exposed), call.span)


def _add_script(machine: Machine, call: Call) -> Value:
    """``addInitScript``: the page runs a function before its own scripts; text and files are denied."""
    for atom in call.arg(0):
        if not (isinstance(atom, HeapObject) and atom.kind == "function" and atom.callable):
            note = f"`{call.path}` is called"
            machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
            machine.leak(call.all(), Flow.ARGUMENT, call.span)
            return machine.materialize("promise:undefined", call.span.start)
    _evaluate(machine, call)
    return machine.materialize("promise:undefined", call.span.start)


_PAGES = ("playwright.page", "playwright.locator", "playwright.electronApp", "playwright.handle")
_EVALUATORS = (
    "evaluate",
    "evaluateHandle",
    "$eval",
    "$$eval",
    "waitForFunction",
    "evaluateAll",
    "executeScript",
    "executeAsyncScript",
)

TRANSFER: dict[str, Transfer] = {
    **{
        f"playwright.{owner}": _add_script
        for owner in ("page.addInitScript", "page.evaluateOnNewDocument", "context.addInitScript")
    },
    **{f"{page}.{name}": _evaluate for page in _PAGES for name in _EVALUATORS},
    **{f"selenium.driver.{name}": _evaluate for name in ("executeScript", "executeAsyncScript")},
    **{
        f"playwright.{owner}.{name}": _expose
        for owner in ("page", "context")
        for name in ("exposeFunction", "exposeBinding")
    },
    **{
        f"playwright.{owner}.{name}": _locate
        for owner in ("page", "locator")
        for name in ("locator", "$", "$$", "waitForSelector")
    },
    **{f"playwright.locator.{name}": _filter for name in ("filter", "map")},
}
