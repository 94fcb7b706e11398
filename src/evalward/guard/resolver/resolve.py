"""From parsed programs to findings: lower, run to the fixpoint, translate offsets."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from evalward.guard.catalogue import load_catalogue
from evalward.guard.locate import locate
from evalward.guard.resolver.interpreter import Interpreter
from evalward.guard.resolver.lowering import lower
from evalward.guard.resolver.state import AnalysisLimitError
from evalward.guard.resolver.values import V_DATA, Value, known, of
from evalward.guard.rules import Action, Limits
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.triggers import is_loaded
from evalward.guard.verdict import Finding, TraceStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.program import ParsedProgram, Survey
    from evalward.guard.resolver.uses import Use
    from evalward.guard.rules import Rules

_BINDING_KINDS: dict[str, Value] = {
    "json": V_DATA,
    "electron": of(known("electron")),
    "electron.app": of(known("electron.app")),
    "electronApp": of(known("electron"), known("playwright.electronApp")),
    "playwright.page": of(known("playwright.page")),
    "playwright.context": of(known("playwright.context")),
    "playwright.browser": of(known("playwright.browser")),
    "playwright.electronApp": of(known("playwright.electronApp")),
    "element": of(known("Element")),
}
# What a sink of each target usually binds, when policy declares nothing else.
_USUAL: dict[Target, dict[str, str]] = {
    Target.MAIN: {"electron": "electron", "app": "electron.app", "electronApp": "electronApp", "arg": "json"},
    Target.RENDERER: {"arg": "json"},
    Target.NODE: {
        "page": "playwright.page",
        "context": "playwright.context",
        "browser": "playwright.browser",
        "electronApp": "playwright.electronApp",
        "arg": "json",
    },
    Target.SANDBOX: {"arg": "json"},
}
# How a driver's code takes its page: `async (page) => …` or `async ({ page, context }) => …`.
_TAKES_A_PAGE = re.compile(
    rb"\(*(?:async\b)?\s*(?:function\b[^(]*)?\(?\s*(?:page\b|\{[^}]*\b(?:page|context|browser|electronApp)\b)"
)
_PAGE = of(known("playwright.page"), known("playwright.fixtures"))
_SWITCHED_GROUPS = frozenset({"network", "storage", "navigation", "clipboard"})
_ELECTRON_GLOBALS = {
    "shell": "electron.shell",
    "BrowserWindow": "electron.BrowserWindow",
    "webContents": "electron.webContents",
}


# What drivers of browsers are called where they are loaded (Playwright, Puppeteer).
_DRIVERS = {
    "chromium": "playwright.browserType",
    "firefox": "playwright.browserType",
    "webkit": "playwright.browserType",
    "playwright": "playwright",
    "_electron": "playwright.browserType",
}

_STEPS_AT_START = 64_000
_STEPS_PER_BYTE = 1
_MAX_TOLD = 16  # findings of one construct


_READ = 1  # the rank of what is reached; of higher ones a value leaves


def step_limit(limits: Limits, length: int) -> int:
    """Return how many steps the resolver may take on a payload of ``length`` bytes, at most ``limits.steps``.

    Most of that is there for a few lines that compilers made longer: a function on arrays takes 37,000 steps when its
    helpers for spread and destructuring stand before it, whatever its own length. No program of the corpus takes more
    than 0.7 of the limit. A step costs 1 to 3.5 µs, whatever it does: what takes longer counts as several. A policy
    that allows more steps than the default allows more in the same proportion (guard.md §6).
    """
    enough = _STEPS_AT_START + _STEPS_PER_BYTE * length
    default = Limits().steps
    return min(limits.steps, enough * max(limits.steps, default) // default)


def bindings_for(rules: Rules, target: Target) -> dict[str, Value]:
    """Return what the sink binds: the target's usual names, then what policy or the request declare."""
    bound = {name: _BINDING_KINDS[kind] for name, kind in _USUAL[target].items()}
    if target is Target.MAIN:
        for name, path in _ELECTRON_GLOBALS.items():
            bound[name] = of(known(path, load_catalogue().get(path).label))
    for name, kind in rules.bindings.items():
        bound[name] = _BINDING_KINDS.get(kind, V_DATA)
    return bound


@cache
def modules_for(target: Target, catalogue: Catalogue) -> dict[str, Value]:
    """Return what names mean that neither the payload nor the sink binds: modules that the host may have loaded."""
    if target not in {Target.MAIN, Target.NODE}:
        return {}
    owners = ("modules", "electron") if target is Target.MAIN else ("modules",)
    found = {
        name: of(known(member.result[1:], member.label or catalogue.get(member.result[1:]).label))
        for owner in owners
        for name, member in catalogue.get(owner).members.items()
        if name != "default"
    }
    if target is Target.NODE:
        found |= {name: of(known(path)) for name, path in _DRIVERS.items()}
    return found


def resolve(
    programs: Sequence[ParsedProgram], survey: Survey, rules: Rules, target: Target = Target.MAIN
) -> list[Finding]:
    """Return what the programs reach that policy decides about, the most telling finding first."""
    findings: list[Finding] = []
    switched = frozenset(label for label, action in rules.actions.items() if action is not Action.ALLOW)
    switched &= _SWITCHED_GROUPS
    for program in programs:
        if is_loaded(program.source, survey, strict=rules.profile is Profile.STRICT):
            findings.extend(_findings(program, rules, target, load_catalogue()))
        if switched:
            # A run of its own: with the groups denied, less is known of what their members yield.
            found = _findings(program, rules, target, load_catalogue(switched))
            findings.extend(each for each in found if each.construct in switched | {"analysis-limit"})
    return list(dict.fromkeys(findings))


def _findings(
    program: ParsedProgram,
    rules: Rules,
    target: Target,
    catalogue: Catalogue,
    cleared: frozenset[tuple[int, int]] = frozenset(),
) -> list[Finding]:
    shapes = program.shapes
    expression = Shape.EXPRESSION in shapes or Shape.FUNCTION in shapes
    lowered = lower(
        program.source,
        program.roots,
        expression=expression and not {Shape.SCRIPT, Shape.ASYNC_BODY} & set(shapes),
        module=Shape.MODULE in shapes,
        script=Shape.SCRIPT in shapes,
    )
    parameter: Value | None = None
    if Shape.FUNCTION in shapes:
        parameter = _parameter(program, target)
    interpreter = Interpreter(
        lowered,
        catalogue,
        steps=step_limit(rules.limits, program.length),
        strict=rules.profile is Profile.STRICT,
        bindings=bindings_for(rules, target),
        parameter=parameter,
        module=Shape.MODULE in shapes,
    )
    interpreter.env_names, interpreter.process_reads = rules.env_names, rules.process_reads
    interpreter.cleared, interpreter.modules = cleared, modules_for(target, catalogue)
    uses: Iterable[Use] = interpreter.uses.values()
    unfinished: list[Finding] = []
    try:
        interpreter.run()
    except AnalysisLimitError:
        # What was found stands: values only grow. What else there is is not known.
        uses = [use for use in uses if use.rank <= _READ]
        unfinished = [Finding("analysis-limit")]
    if interpreter.checked and not interpreter.selecting <= interpreter.checked:
        # Some keys that select what is written to are checked: what is written to by the others?
        checked = interpreter.checked
        interpreter.release()
        return _findings(program, rules, target, catalogue, checked)
    uses = sorted(uses, key=lambda use: (use.rank, use.start, use.construct))
    interpreter.release()
    payload = program.source[program.offset : program.offset + program.length]
    told: Counter[str] = Counter()
    findings = []
    for use in uses:
        told[use.construct] += 1
        if (
            told[use.construct] <= _MAX_TOLD
        ):  # to say where each is takes a look at the text, and some have thousands
            findings.append(_finding(use, payload, program.offset))
    return [*findings, *unfinished]


def _parameter(program: ParsedProgram, target: Target) -> Value:
    """Return what the sink calls a function with; another driver object than a page is judged by its methods' names."""
    if target is Target.MAIN:
        return of(known("electron"))
    if target is Target.NODE and _TAKES_A_PAGE.match(program.source, program.roots[-1].start_byte):
        return _PAGE
    return V_DATA


def _finding(use: Use, payload: bytes, offset: int) -> Finding:
    def place(start: int, end: int) -> tuple[int, int]:
        low = min(max(start - offset, 0), len(payload))
        return low, min(max(end - offset, low), len(payload))

    trace = tuple(TraceStep(step.note, locate(payload, *place(step.start, step.end))) for step in use.trace)
    return Finding(use.construct, locate(payload, *place(use.start, use.end)), trace)
