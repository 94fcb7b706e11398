"""From a payload to P': readings, shape, run-time and configuration around what the emitter prints (harden.md §2)."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from evalward.guard.binding import BindingKind
from evalward.guard.harden.early_errors import early_error
from evalward.guard.harden.emit import emitted, head_names
from evalward.guard.harden.literal_text import string_text
from evalward.guard.harden.node_kinds import unknown_node
from evalward.guard.harden.outcome import Hardened, NotHardenable
from evalward.guard.harden.runtimes import (
    Additions,
    bound_names,
    configuration,
    hosts_text,
)
from evalward.guard.harden.travel import Program, Programs, Sent
from evalward.guard.harden.tree import Route
from evalward.guard.runtime_texts import runtime_for
from evalward.guard.sinks import sinks
from evalward.guard.syntax.grammar import COMMENTS, kinds
from evalward.guard.syntax.readings import programs_for
from evalward.guard.syntax.shapes import Rejection, programs_of
from evalward.guard.target import Shape, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evalward.guard.syntax.program import ParsedProgram

_NO_BINDINGS: Final[Mapping[str, str]] = MappingProxyType({})
_LIMIT_BYTES: Final = 64 * 1024
_MENTIONS_ELECTRON: Final = re.compile(rb"electron|browserwindow", re.IGNORECASE)
_MENTIONS_APPLICATION: Final = re.compile(rb"electronapp", re.IGNORECASE)
_ROUTES_TO_PAGES: Final = frozenset({Route.PAGE, Route.BODY})
# Drivers in Node do not call what a text gives, unlike Playwright's clients in other languages.
_SHAPES: Final = {Route.PAGE: Shape.SCRIPT, Route.BODY: Shape.ASYNC_BODY, Route.MAIN: Shape.SCRIPT}
_PREFERRED: Final = (Shape.EXPRESSION, Shape.SCRIPT, Shape.ASYNC_BODY)
_WRAPPED: Final = kinds("expression_statement", "parenthesized_expression")
_FUNCTION_VALUES: Final = kinds("arrow_function", "function_expression", "generator_function")
_CALLED: Final = {
    Shape.FUNCTION: ("", ""),
    Shape.SCRIPT: ("()=>", ""),
    Shape.ASYNC_BODY: ("async()=>{", "}"),
}
"""What makes a function of P' in a shape: drivers send only functions, so that no text of a payload's goes anywhere."""


def harden_payload(  # noqa: PLR0911, PLR0913  what a program follows from
    payload: bytes,
    *,
    target: Target,
    shape: Shape | None,
    prefix: str,
    sink: str | None = None,
    bindings: Mapping[str, str] | None = None,
    env_names: frozenset[str] = frozenset(),
    process_reads: frozenset[str] = frozenset(),
    readings: Sequence[ParsedProgram] = (),
) -> Hardened | NotHardenable:
    """Return P' for ``payload`` run by ``target`` in ``shape`` or by ``sink``, or why there is none.

    A pure function. ``prefix`` begins the names that P' declares: it is random, and an identifier. ``bindings`` are
    kinds of values by name, and ``env_names`` and ``process_reads`` what may be read of `process`, as in a policy.
    ``readings`` are the programs of the same payload, if the guard's syntax stage has accepted them already.
    """
    limit_bytes = max(_LIMIT_BYTES, len(payload))
    given = dict(bindings or _NO_BINDINGS)
    parameters = None
    try:
        if sink is None:
            programs = tuple(readings) or programs_of(payload, shape, limit_bytes=limit_bytes)
        else:
            named = sinks()[sink]
            given |= named.bindings
            parameters = named.parameters
            programs = tuple(readings) or programs_for(payload, named, limit_bytes=limit_bytes)
    except UnicodeDecodeError as error:
        return NotHardenable("The payload is not UTF-8.", start=error.start, end=error.end)
    if isinstance(programs, Rejection):
        reason = "The payload does not parse in its shape."
        return NotHardenable(reason, programs.construct, None, programs.start, programs.end)
    if prefix.encode() in payload:
        return NotHardenable("The payload holds the prefix; another one is needed.", kind="prefix")
    program, *others = programs
    if others:
        return NotHardenable("The payload has two readings, which would need different programs.")
    if not prefix.isidentifier() or not prefix.isascii():
        raise ValueError("the prefix is no identifier")
    refused = _refusal(program, surveyed=bool(readings))
    if refused is not None:
        return refused
    made_in = shape or _shape(program)
    more = Additions(env_names, process_reads)
    routes = _routes(payload, target, given)
    sent = Programs(payload.decode(), routes, _sender(prefix, more)) if routes else None
    emission = emitted(
        program, made_in, prefix, bound_names(target, given), sent, arguments=target is Target.RENDERER
    )
    if isinstance(emission, NotHardenable):
        return emission
    runtime = runtime_for(target)
    told = configuration(payload, target, prefix, given, parameters=parameters, more=more)
    names, spoken = head_names(emission, prefix)
    shared = (
        ""
        if sent is None
        else "".join(f",{name}={string_text(part)}" for part, name in sent.constants.items())
    )
    text = emission.text(f"const {{{names}}}={runtime.text}({told}){spoken}{shared};")
    return Hardened(text.encode("ascii"), emission.text("").encode("ascii"), made_in, target, runtime.version)


def _routes(payload: bytes, target: Target, bindings: Mapping[str, str]) -> frozenset[Route]:
    """Return the routes on which driver code may send text; to the main process only where it mentions Electron."""
    if target is Target.MAIN:
        return frozenset({Route.MAIN}) if _MENTIONS_APPLICATION.search(payload) else frozenset()
    if target is not Target.NODE:
        return frozenset()
    bound = any(kind.split("|")[0] == BindingKind.ELECTRON_APP for kind in bindings.values())
    return frozenset(Route) if bound or _MENTIONS_ELECTRON.search(payload) else _ROUTES_TO_PAGES


def _sender(prefix: str, more: Additions) -> Callable[[Sent, int], Program | NotHardenable]:
    """Return what hardens a function or text for the realm that it is sent to."""

    def send(asked: Sent, number: int) -> Program | NotHardenable:
        target = Target.MAIN if asked.route is Route.MAIN else Target.RENDERER
        made = harden_payload(
            asked.source.encode("utf-8", "surrogatepass"),
            target=target,
            shape=_SHAPES[asked.route] if asked.is_text else Shape.FUNCTION,
            prefix=f"{prefix}s{number}_",
            env_names=more.env_names,
            process_reads=more.process_reads,
        )
        if isinstance(made, NotHardenable):
            return made
        opening, closing = _CALLED[made.shape]
        text = f"{opening}{made.text.decode('ascii')}{closing}"
        return Program(text, (runtime_for(target).text, hosts_text(target, more)))

    return send


def _refusal(program: ParsedProgram, *, surveyed: bool) -> NotHardenable | None:
    """Say why a program is refused before it is read: a node that is not understood, or an early error."""
    unknown = unknown_node(program)
    if unknown is not None:
        start = min(max(unknown.start_byte - program.offset, 0), program.length)
        end = min(max(unknown.end_byte - program.offset, start), program.length)
        return NotHardenable("The payload has syntax that is not understood.", None, unknown.type, start, end)
    found = early_error(program, surveyed=surveyed)
    if found is not None:
        return NotHardenable(
            f"The payload is no valid program: {found.message}.",
            found.construct,
            start=found.start,
            end=found.end,
        )
    return None


def _shape(program: ParsedProgram) -> Shape:
    """Return the shape of P' where several read the payload alike.

    What is an expression is printed as one: every reading takes it. A function that the sink calls is printed as a
    function, so that each call is checked.
    """
    if program.called and _is_function(program):
        return Shape.FUNCTION
    found: Shape = next(shape for shape in (*_PREFERRED, *Shape) if shape in program.shapes)
    return found


def _is_function(program: ParsedProgram) -> bool:
    nodes = [node for node in program.roots if node.kind_id not in COMMENTS]
    while len(nodes) == 1 and nodes[0].kind_id in _WRAPPED:
        nodes = [node for node in nodes[0].named_children if node.kind_id not in COMMENTS]
    return len(nodes) == 1 and nodes[0].kind_id in _FUNCTION_VALUES
