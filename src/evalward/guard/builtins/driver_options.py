"""Options that a payload gives a driver's method, and the start of a browser (Puppeteer)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import UNDEFINED, UNKNOWN, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.machine import Machine, Transfer

_ABSENT: Final = frozenset({UNDEFINED, UNKNOWN})  # what the host adds to options that it was given is unknown

_LAUNCH: Final = "process.launch"
# Options that change what is seen. The others choose the program, its environment, what it loads, who debugs it.
_HARMLESS: Final = frozenset(
    {
        "headless",
        "slowMo",
        "defaultViewport",
        "timeout",
        "devtools",
        "protocolTimeout",
        "acceptInsecureCerts",
        "args",
    }
)
_HARMLESS_ARGUMENTS: Final = frozenset(
    {
        *(
            "--no-sandbox",
            "--disable-setuid-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--headless",
        ),
        *("--headless=new", "--hide-scrollbars", "--incognito", "--mute-audio", "--no-first-run"),
        *("--no-zygote", "--single-process", "--start-maximized", "--start-fullscreen"),
        *(
            "--disable-notifications",
            "--disable-infobars",
            "--disable-extensions",
            "--ignore-certificate-errors",
        ),
        "--disable-blink-features=AutomationControlled",
    }
)
_WITH_VALUE: Final = (
    "--window-size=",
    "--window-position=",
    "--lang=",
    "--force-device-scale-factor=",
    "--user-agent=",
)


def has_option(machine: Machine, options: Value, name: str, span: Span) -> bool:
    """Whether options of the payload may hold a member of this name."""
    for atom in options:
        if not isinstance(atom, HeapObject):
            continue
        machine.observe(atom)
        own = atom.properties.get(name, frozenset()) - {UNDEFINED}
        if own or name in atom.getters or machine.get(of(atom), name, span) - _ABSENT:
            return True
    return False


def _launch(machine: Machine, call: Call) -> Value:
    """Start a browser: the default one, seen in another way, or one that the options make."""
    if not all(_is_harmless(machine, atom) for atom in call.arg(0) - {UNDEFINED}):
        machine.report(_LAUNCH, Rank.USED, call.span, None, "the options choose a program or what it loads")
        machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:@playwright.browser", call.span.start)


def _is_harmless(machine: Machine, options: Atom) -> bool:
    if not isinstance(options, HeapObject) or options.kind != "object":
        return False
    machine.observe(options)
    inherits = any(isinstance(parent, HeapObject) for parent in options.prototype)
    if options.getters or options.elements or options.escaped or inherits:
        return False
    given = machine.items_of(options.properties.get("args", frozenset()))
    arguments = [] if "args" not in options.properties else given
    return (
        options.properties.keys() <= _HARMLESS
        and arguments is not None
        and all(
            type(atom) is str and (atom in _HARMLESS_ARGUMENTS or atom.startswith(_WITH_VALUE))
            for value in arguments
            for atom in value
        )
    )


TRANSFER: dict[str, Transfer] = {"puppeteer.launch": _launch}
