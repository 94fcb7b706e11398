"""From parsed programs to findings: lower, run to the fixpoint, translate offsets."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from evalward.guard.binding import DRIVER_GLOBALS, ELECTRON_GLOBALS, USUAL_BINDINGS, BindingKind
from evalward.guard.builtins.transfer_table import TRANSFER
from evalward.guard.catalogue import load_catalogue
from evalward.guard.constructs import analysis_limit
from evalward.guard.domain.atoms import BOTTOM, V_GLOBAL, V_TAINTED_DATA, V_UNDEFINED, Value, known, of
from evalward.guard.domain.limit import AnalysisLimitError
from evalward.guard.domain.values import join
from evalward.guard.interpret.interpreter import Interpreter
from evalward.guard.interpret.surroundings import Surroundings
from evalward.guard.lower.lower import lower
from evalward.guard.rules import Action, Limits
from evalward.guard.screen.triggers import is_loaded
from evalward.guard.syntax.grammar import COMMENTS
from evalward.guard.syntax.locate import locate
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import MAX_FINDINGS, Finding, TraceStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evalward.guard.catalogue import Catalogue
    from evalward.guard.domain.instructions import Lowered
    from evalward.guard.domain.span import Span
    from evalward.guard.domain.uses import Use
    from evalward.guard.rules import Rules
    from evalward.guard.sinks import Sink
    from evalward.guard.syntax.program import ParsedProgram, Survey

_BINDING_KINDS: dict[str, Value] = {
    BindingKind.JSON: V_TAINTED_DATA,
    BindingKind.ELECTRON: of(known("electron")),
    BindingKind.ELECTRON_APP_MODULE: of(known("electron.app")),
    BindingKind.ELECTRON_APP: of(known("electron"), known("playwright.electronApp")),
    BindingKind.PLAYWRIGHT_PAGE: of(known("playwright.page")),
    BindingKind.PLAYWRIGHT_CONTEXT: of(known("playwright.context")),
    BindingKind.PLAYWRIGHT_BROWSER: of(known("playwright.browser")),
    BindingKind.PLAYWRIGHT_ELECTRON_APP: of(known("playwright.electronApp")),
    BindingKind.ELEMENT: of(known("Element")),
}
_SINK_KINDS: dict[str, Value] = {"global": V_GLOBAL, "undefined": V_UNDEFINED}
# How a driver's code takes its page: `async (page) => …` or `async ({ page, context }) => …`; Selenium's is `driver`.
_TAKES_A_PAGE = re.compile(
    rb"\(*(?:async\b)?\s*(?:function\b[^(]*)?\(?\s*"
    rb"(?:(page|driver)\b|\{[^}]*\b(?:page|context|browser|electronApp|driver|puppeteer)\b)"
)
_FIXTURES = of(known("playwright.page.destructured"), known("playwright.fixtures"))
_TAKEN = {b"page": of(known("playwright.page")), b"driver": of(known("selenium.driver"))}
_SWITCHED_GROUPS = frozenset({"network", "storage", "navigation", "clipboard"})
_STEPS_AT_START = 64_000
_STEPS_PER_BYTE = 1
_MAX_TOLD = MAX_FINDINGS  # findings of one construct


def step_limit(limits: Limits, length: int) -> int:
    """Return how many steps the resolver may take on a payload of ``length`` bytes, at most ``limits.steps``.

    Compiled code needs most of that: a function on arrays takes 37,000 steps when its helpers for spread and
    destructuring precede it, whatever its own length. No program of the corpus takes more
    than 0.7 of the limit. A step costs 1 to 3.5 µs, whatever it does: what takes longer counts as several. A policy
    that allows more steps than the default allows more in the same proportion (guard.md §6).
    """
    enough = _STEPS_AT_START + _STEPS_PER_BYTE * length
    default = Limits().steps
    return min(limits.steps, enough * max(limits.steps, default) // default)


def bindings_for(rules: Rules, target: Target) -> dict[str, Value]:
    """Return what the sink binds: the target's usual names, then what policy or the request declare."""
    bound = {name: _BINDING_KINDS[kind] for name, kind in USUAL_BINDINGS[target].items()}
    if target is Target.MAIN:
        for name, path in ELECTRON_GLOBALS.items():
            bound[name] = of(known(path, load_catalogue().get(path).label))
    for name, kind in rules.bindings.items():
        bound[name] = _BINDING_KINDS[kind]
    return bound


def bindings_of(sink: Sink, rules: Rules) -> dict[str, Value]:
    """Return what a sink binds: its own names, those of policy or the request, and what the target's realm has."""
    usual = USUAL_BINDINGS[sink.target].items() if sink.target is Target.MAIN else ()
    bound = {name: _BINDING_KINDS[kind] for name, kind in usual if kind != "json"}
    if sink.target is Target.MAIN:
        for name, path in ELECTRON_GLOBALS.items():
            bound[name] = of(known(path, load_catalogue().get(path).label))
    for name, kind in {**rules.bindings, **sink.bindings}.items():
        bound[name] = kind_value(kind)
    return bound


def kind_value(kind: str) -> Value:
    """Return what a value of a kind of binding may be; ``|`` stands between kinds that it may have."""
    kinds = kind.split("|")
    value = _SINK_KINDS.get(kinds[0]) or _BINDING_KINDS.get(kinds[0], V_TAINTED_DATA)
    for each in kinds[1:]:
        value = join(value, _SINK_KINDS.get(each) or _BINDING_KINDS.get(each, V_TAINTED_DATA))
    return value


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
        found |= {name: of(known(path)) for name, path in DRIVER_GLOBALS.items()}
    return found


class Resolved(NamedTuple):
    """What was found, the most telling first, and how many more there are by construct.

    Each construct has at most ``_MAX_TOLD`` findings: locating one reads the text.
    """

    findings: list[Finding]
    untold: Counter[str]


def resolve(
    programs: Sequence[ParsedProgram],
    survey: Survey,
    rules: Rules,
    target: Target = Target.MAIN,
    sink: Sink | None = None,
) -> Resolved:
    """Return what the programs reach that policy decides about."""
    findings: list[Finding] = []
    untold: Counter[str] = Counter()
    switched = frozenset(label for label, action in rules.actions.items() if action is not Action.ALLOW)
    switched &= _SWITCHED_GROUPS
    strict = rules.profile is Profile.STRICT
    for program in programs:
        loaded = is_loaded(
            program.source,
            survey,
            strict=strict,
            driven=target is Target.NODE,
            electron=target is Target.MAIN,
        )
        if not (loaded or switched):
            continue
        lowered = _lowered(program)
        if loaded:
            found = _findings(program, lowered, rules, target, load_catalogue(), sink, strict=strict)
            findings.extend(found.findings)
            untold |= found.untold  # two readings of a payload find the same
        if switched:
            # A run of its own: with the groups denied, less is known of what their members yield.
            found = _findings(program, lowered, rules, target, load_catalogue(switched), sink, strict=strict)
            findings.extend(
                each for each in found.findings if each.construct in switched | {analysis_limit.LABEL}
            )
            untold |= Counter({label: found.untold[label] for label in switched})
    return Resolved(list(dict.fromkeys(findings)), untold)


def _lowered(program: ParsedProgram) -> Lowered:
    shapes = program.shapes
    expression = Shape.EXPRESSION in shapes or Shape.FUNCTION in shapes
    return lower(
        program.source,
        program.roots,
        expression=expression and not {Shape.SCRIPT, Shape.ASYNC_BODY} & set(shapes),
        module=Shape.MODULE in shapes,
        script=Shape.SCRIPT in shapes,
    )


def _findings(
    program: ParsedProgram,
    lowered: Lowered,
    rules: Rules,
    target: Target,
    catalogue: Catalogue,
    sink: Sink | None,
    cleared: frozenset[Span] = frozenset(),
    *,
    strict: bool,
) -> Resolved:
    shapes = program.shapes
    parameters: tuple[Value, ...] | None = None
    perhaps_called = False
    if Shape.FUNCTION in shapes:
        parameters = (_parameter(program, target),)
    elif program.called and sink is not None:
        parameters = tuple(map(kind_value, sink.parameters))
    elif sink is None and target is Target.MAIN and {Shape.SCRIPT, Shape.ASYNC_BODY} <= {*shapes}:
        # Undeclared: what reads it may be a driver, which calls the function that the script gives.
        parameters, perhaps_called = (_parameter(program, target),), True
    this = V_UNDEFINED if Shape.MODULE in shapes else V_GLOBAL
    receiver, rest, arguments_given = V_UNDEFINED, V_TAINTED_DATA, BOTTOM
    if sink is not None:
        own = kind_value(sink.this)
        if program.called:
            receiver = own
        elif Shape.ASYNC_BODY in shapes:
            this = own
        rest = kind_value(sink.rest)
        for kind in (*sink.parameters, sink.rest):
            arguments_given = join(arguments_given, kind_value(kind))
    surroundings = Surroundings(
        lowered,
        catalogue,
        steps=step_limit(rules.limits, program.length),
        strict=strict,
        in_page=target is Target.RENDERER,
        driven=target is Target.NODE,
        this=this,
        bindings=bindings_for(rules, target) if sink is None else bindings_of(sink, rules),
        modules=modules_for(target, catalogue),
        parameters=parameters,
        perhaps_called=perhaps_called,
        receiver=receiver,
        rest=rest,
        arguments_given=arguments_given,
        env_names=rules.env_names,
        process_reads=rules.process_reads,
        cleared=cleared,
        alone=target is Target.SANDBOX and Shape.MODULE not in shapes,
    )
    interpreter = Interpreter(surroundings, TRANSFER)
    found = interpreter.machine.findings
    uses: Iterable[Use] = found.uses.values()
    unfinished: list[Finding] = []
    try:
        interpreter.run()
    except AnalysisLimitError:
        # What was found stands: values only grow. What else there is is not known.
        uses = [use for use in uses if use.rank.is_reached]
        unfinished = [Finding(analysis_limit.LABEL)]
    if found.checked and not found.selecting <= found.checked:
        # Some keys that select what is written to are checked: what is written to by the others?
        checked = found.checked
        interpreter.machine.release()
        return _findings(program, lowered, rules, target, catalogue, sink, checked, strict=strict)
    if found.outside and not strict:
        # Ordinary code stays within the models. What `balanced` allows without proof is a concession to ordinary code.
        interpreter.machine.release()
        return _findings(program, lowered, rules, target, catalogue, sink, strict=True)
    # What is read, called and handed on in one place is one finding, told by what says most.
    uses = {(use.construct, use.span.start): use for use in sorted(uses, key=_order, reverse=True)}.values()
    uses = sorted(uses, key=_order)
    interpreter.machine.release()
    payload = program.source[program.offset : program.offset + program.length]
    told: Counter[str] = Counter()
    findings = []
    for use in uses:
        told[use.construct] += 1
        if told[use.construct] <= _MAX_TOLD:
            findings.append(_finding(use, payload, program.offset))
    untold = Counter({label: count - _MAX_TOLD for label, count in told.items() if count > _MAX_TOLD})
    return Resolved([*findings, *unfinished], untold)


def _order(use: Use) -> tuple[int, int, str, int]:
    return use.rank, use.span.start, use.construct, use.span.end


def _parameter(program: ParsedProgram, target: Target) -> Value:
    """Return what the sink calls a function with; another driver object than a page is judged by its methods' names."""
    if target is Target.MAIN:
        return of(known("electron"))
    first = next((node for node in program.roots if node.kind_id not in COMMENTS), None)
    if target is not Target.NODE or first is None:
        return V_TAINTED_DATA
    taken = _TAKES_A_PAGE.match(program.source, first.start_byte)
    return V_TAINTED_DATA if taken is None else _TAKEN.get(taken[1], _FIXTURES)


def _finding(use: Use, payload: bytes, offset: int) -> Finding:
    def place(span: Span) -> tuple[int, int]:
        low = min(max(span.start - offset, 0), len(payload))
        return low, min(max(span.end - offset, low), len(payload))

    trace = tuple(TraceStep(step.note, locate(payload, *place(step.span))) for step in use.trace)
    return Finding(use.construct, locate(payload, *place(use.span)), trace)
