"""Writes to catalogued objects: sinks of the page, members of the host, built-in prototypes (guard.md §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.catalogue.entries import MAYBE_WINDOWS
from evalward.guard.constructs import call_sites, dynamic_key, navigation, prototype_tampering
from evalward.guard.constructs.labels import OFF_BY_DEFAULT_LABELS
from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    BOTTOM,
    CONSTRUCTORS_OF_UNKNOWN,
    PLAIN_ELEMENT,
    V_UNDEFINED,
    Known,
    Value,
    is_prototype,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.slots import MAY_HOLD_CODE
from evalward.guard.interpret.objects.intrinsics import OF_LANGUAGE
from evalward.guard.interpret.objects.page_sinks import ATTRIBUTE_VALUES
from evalward.guard.interpret.script_texts import any_script

if TYPE_CHECKING:
    from evalward.guard.domain.atoms import Atom
    from evalward.guard.domain.span import Span
    from evalward.guard.interpret.conversion.coercion import Coercion
    from evalward.guard.interpret.held_texts import HeldTexts
    from evalward.guard.interpret.judgement import Judgement
    from evalward.guard.interpret.objects.page_sinks import PageSinks
    from evalward.guard.interpret.run_state import RunState

_CLASSES: Final[Value] = frozenset(map(known, OF_LANGUAGE))
_STDOUT: Final = "process.stdout"


class KnownWrites:
    """Writes to built-in objects and those of the host."""

    def __init__(
        self, state: RunState, judgement: Judgement, held: HeldTexts, coercion: Coercion, sinks: PageSinks
    ) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self._exposure = state.exposure
        self._global_object = state.exposure.global_object
        self._patches = state.store.patches
        self._findings = state.findings
        self._catalogue = state.surroundings.catalogue
        self._lowered = state.surroundings.lowered
        self._judgement = judgement
        self._held = held
        self._coercion = coercion
        self._sinks = sinks

    def set_on_known(self, atom: Known, name: str, value: Value, span: Span) -> None:
        entry = self._catalogue.get(atom.path)
        if name == "prepareStackTrace":
            self._findings.report(call_sites.LABEL, Rank.USED, span, atom, "`prepareStackTrace` is written")
            return
        if is_prototype(atom):
            self._findings.report(
                prototype_tampering.LABEL, Rank.USED, span, atom, f"`{atom.path}` is written"
            )
            return
        if atom.path == "console" and name.startswith("_"):
            # Node prints through these streams: another one would be given all that is printed.
            note = f"`{name}` of the console is written"
            self._findings.report(_STDOUT, Rank.USED, span, atom, note)
        self._judgement.change(atom, span)
        member = entry.members.get(name)
        if member is not None and member.label in OFF_BY_DEFAULT_LABELS:
            self._findings.report(
                member.label, Rank.USED, span, atom, f"`{name}` of `{atom.path}` is written"
            )
        if (
            atom.label is not None
            and atom.path != "globalThis"
            and (atom.path, name) != ("module", "exports")
        ):
            self._findings.report(atom.label, Rank.USED, span, atom, f"`{atom.path}` is written")
            return
        if name == "name" or (name in ATTRIBUTE_VALUES and atom.path.endswith("Attr")):
            self._exposure.expect_names(value)
        if atom.path == "globalThis":
            self._judgement.use(value, Flow.GLOBAL, span)
            self._set_global(name, value)
        elif atom.path in MAYBE_WINDOWS:
            self._set_on_window(name, value)
        if atom.path == "location":
            self._findings.report(navigation.LABEL, Rank.NAVIGATES, span, None, "the page is left")
        if name in ATTRIBUTE_VALUES:
            self._sinks.sink("value", value, span)
        kind = entry.sinks.get(name) or self._catalogue.get(entry.prototype).sinks.get(name)
        this = BOTTOM if atom.path == "globalThis" else of(atom)
        if kind in {"text", "html"} or name == "src":
            self._judge_contents(atom, kind, value, span)
            kind = None if kind == "text" else kind
        if kind is not None:
            self._sinks.sink(kind, value, span, this=this)
        elif name.startswith("on"):
            self._judgement.use(value, Flow.CALLBACK, span)
            self._sinks.call_handler(value, span.start, this)
        elif self._catalogue.is_standard(atom.path, name) or atom.path != "globalThis" or member is not None:
            self._patches.put(f"{atom.path}.{name}", value)  # later reads of the payload find it
            if member is None:
                self._exposure.define_on_hosts(atom, name, value, BOTTOM)
        if member is not None and member.result == "text":
            texts = self._coercion.to_string(value, span)
            self._patches.put(f"{atom.path}.{name}", texts)
            self._held.hold((texts,))
        elif atom.path != "globalThis":
            self._held.hold(
                (value,)
            )  # what is written to one member may be read from another: `ariaLabel`, `rel`
        self._judgement.leak(value, Flow.PROPERTY if atom.path != "globalThis" else Flow.GLOBAL, span)

    def set_on_shared(self, owner: Atom, name: str, value: Value, span: Span) -> None:
        """Write to an unknown object that all code may share: one that was given away, a class by `constructor`."""
        if name == "name":
            self._exposure.expect_names(value)
        self._set_on_window(name, value)
        shared = self._exposure.lent_builtins()
        for atom in shared | _CLASSES if owner in CONSTRUCTORS_OF_UNKNOWN else shared:
            if type(atom) is Known and not is_prototype(atom) and self._is_function_of(atom, name):
                self.set_on_known(atom, name, value, span)

    def _set_on_window(self, name: str, value: Value) -> None:
        """Write to what may be a window: a function that is replaced there is replaced for every program."""
        member = self._catalogue.globals.get(name)
        if member is not None and member.result.startswith("@"):
            path = member.result[1:]
            if name in self._catalogue.of_windows or (path == name and self._catalogue.get(path).callable):
                self._patches.put(f"globalThis.{name}", value)
                self._set_global(name, value)

    def _set_global(self, name: str, value: Value) -> None:
        self._store.put(self._global_object, name, value)
        register = self._lowered.global_registers.get(name)
        if register is not None:
            self._dataflow.write(register, value)

    def _is_function_of(self, atom: Known, name: str) -> bool:
        """Whether a member of an object, own or inherited, is a function or an object."""
        entry = self._catalogue.get(atom.path)
        member = entry.members.get(name) or self._catalogue.get(entry.prototype).members.get(name)
        return member is not None and member.result.startswith("@")

    def _judge_contents(self, atom: Known, kind: str | None, value: Value, span: Span) -> None:
        """Judge the text or the source of an element that may be a script."""
        if atom is PLAIN_ELEMENT:
            if any_script(value):
                self._patches.put(MAY_HOLD_CODE, V_UNDEFINED)
        elif kind in {"text", "html"}:
            self._sinks.sink("text", value, span, certain=kind == "text")
        elif atom.path == "Element":
            self._sinks.sink("source", value, span)

    def set_dynamic_on_known(self, atom: Known, span: Span, *, numeric: bool) -> None:
        entry = self._catalogue.get(atom.path)
        if self._judgement.change(atom, span):
            return
        if (numeric and atom.path != "console") or entry.unresolved == "harmless":
            return
        dynamic = entry.unresolved == dynamic_key.LABEL or atom.path == "console"
        if dynamic or atom.path.endswith("prototype") or entry.callable:
            label = dynamic_key.LABEL if dynamic else prototype_tampering.LABEL
            self._findings.report(
                label,
                Rank.BY_KEY,
                span,
                atom,
                f"`{atom.path}` is written by a key that cannot be resolved",
            )
        elif entry.sinks or self._catalogue.get(entry.prototype).sinks:
            self._findings.report(
                dynamic_key.LABEL,
                Rank.BY_KEY,
                span,
                atom,
                "a sink may be written by a key that cannot be resolved",
            )
