"""Options that a payload gives a driver's method, and the start of a browser (Puppeteer)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import nested_evaluation
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import BOTTOM, UNDEFINED, UNKNOWN, V_UNKNOWN, known, of
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.interpret.held_texts import may_run

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom, Value
    from evalward.guard.domain.call import Call
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.machine import Machine, Transfer


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
_HARMLESS_OF_PLAYWRIGHT: Final = _HARMLESS | {
    *("proxy", "logger", "chromiumSandbox", "handleSIGHUP", "handleSIGINT", "handleSIGTERM"),
}
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
_ADDRESSES: Final = ("wsEndpoint", "browserWSEndpoint", "browserURL", "transport")
_WITH_VALUE: Final = (
    "--window-size=",
    "--window-position=",
    "--lang=",
    "--force-device-scale-factor=",
    "--user-agent=",
)


def option(machine: Machine, options: HeapObject, name: str, span: Span) -> Value:
    """Return an option, nothing if it is absent; a driver that holds the options does not change them."""
    machine.observe(options)
    own = options.properties.get(name, frozenset())
    inherits = any(isinstance(parent, HeapObject) for parent in options.prototype)
    if options.kind == "object" and not inherits and not options.elements and name not in options.getters:
        return own - {UNDEFINED}
    return (own | machine.get(of(options), name, span)) - {UNDEFINED}


def has_option(machine: Machine, options: Value, name: str, span: Span) -> bool:
    """Whether options of the payload may hold a member of this name."""
    return any(isinstance(atom, HeapObject) and option(machine, atom, name, span) for atom in options)


def overriding(machine: Machine, call: Call, name: str) -> Value:
    """Return the option ``name`` of the call's second argument, which Playwright's client sends in place of the first.

    It spreads options behind the parameters of its protocol: ``setContent('a', { html })`` shows ``html``.
    """
    found: Value = BOTTOM
    for atom in call.arg(1):
        if isinstance(atom, HeapObject) and not atom.callable:
            found |= option(machine, atom, name, call.span)
    return found


def _launch(machine: Machine, call: Call) -> Value:
    """Start a browser: the default one, seen in another way, or one that the options make."""
    if not all(_is_harmless(machine, atom, _HARMLESS) for atom in call.arg(0) - {UNDEFINED}):
        machine.report(_LAUNCH, Rank.USED, call.span, None, "the options choose a program or what it loads")
        machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return machine.materialize("promise:@playwright.browser", call.span.start)


def _launch_unknown(machine: Machine, call: Call) -> Value:
    """``x.launch(options)``, where x may be a driver's type of browser; what is not known gets the options, too."""
    if not machine.in_page and not all(
        _is_harmless(machine, atom, _HARMLESS_OF_PLAYWRIGHT, escapes=True)
        for atom in call.arg(0) - {UNDEFINED}
    ):
        machine.report(_LAUNCH, Rank.USED, call.span, None, "the options may choose a program")
    return V_UNKNOWN


def _start_unknown(machine: Machine, call: Call) -> Value:
    """``x.launchServer(options)``: a server is what a driver connects to, a profile is a folder of the machine."""
    if not machine.in_page:
        name = call.path.rpartition(".")[2]
        machine.report(f"process.{name}", Rank.USED, call.span, None, f"`{name}` is called")
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _process(machine: Machine, call: Call) -> Value:
    """``x.process()``, where x may be a browser: its process."""
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN if machine.in_page else V_UNKNOWN | of(known("playwright.childProcess"))


def _is_harmless(machine: Machine, options: Atom, harmless: frozenset[str], *, escapes: bool = False) -> bool:
    if not isinstance(options, HeapObject) or options.kind != "object":
        return False
    machine.observe(options)
    inherits = any(isinstance(parent, HeapObject) for parent in options.prototype)
    # What holds the options may have written anything that is not known, but for what this is about.
    written = options.elements - {UNKNOWN} if escapes else options.elements
    if options.getters or written or inherits or (options.escaped and not escapes):
        return False
    given = machine.items_of(options.properties.get("args", frozenset()))
    arguments = [] if "args" not in options.properties else given
    return (
        options.properties.keys() <= harmless
        and arguments is not None
        and all(
            type(atom) is str and (atom in _HARMLESS_ARGUMENTS or atom.startswith(_WITH_VALUE))
            for value in arguments
            for atom in value
        )
    )


def _screencast(machine: Machine, call: Call) -> Value:
    """``page.screencast`` of Puppeteer: it runs the encoder that its options name."""
    if has_option(machine, call.arg(0), "ffmpegPath", call.span):
        machine.report(_LAUNCH, Rank.USED, call.span, None, "the options choose a program")
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _connect_unknown(machine: Machine, call: Call) -> Value:
    """``x.connect(address)``, where x may be a driver's type of browser: the browser that answers is not judged."""
    if not machine.in_page and any(
        _is_socket(atom) or any(has_option(machine, of(atom), name, call.span) for name in _ADDRESSES)
        for atom in call.arg(0)
    ):
        note = "`connect` leads to a browser of its own"
        machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _is_socket(address: Atom) -> bool:
    return type(address) is str and address.lower().startswith(("ws:", "wss:"))


def _is_function(atom: Atom) -> bool:
    return isinstance(atom, HeapObject) and atom.callable


def _register_unknown(machine: Machine, call: Call) -> Value:
    """``x.register(name, script)``, where x may be Playwright's selectors: pages evaluate the text."""
    if not machine.in_page and any(
        may_run(atom)
        if type(atom) is str
        else not _is_function(atom) and has_option(machine, of(atom), "content", call.span)
        for atom in call.arg(1)
    ):
        note = "`register` gives pages a text to evaluate"
        machine.report(nested_evaluation.LABEL, Rank.USED, call.span, None, note)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN


TRANSFER: dict[str, Transfer] = {
    "puppeteer.launch": _launch,
    "playwright.page.screencast": _screencast,
    "unknown.launch": _launch_unknown,
    "unknown.launchServer": _start_unknown,
    "unknown.launchPersistentContext": _start_unknown,
    "unknown.process": _process,
    "unknown.connect": _connect_unknown,
    "unknown.register": _register_unknown,
}
