"""Text that the payload hands to the host, and may read back from there (guard.md §2, host objects and sinks).

``new Option('javascript:…').text`` is the payload's own constant, read back from an object of the host. No list names
all objects that keep their arguments. So a value that such an object returns is judged as the texts that it was given,
if a sink would judge those: active markup, the URL of a script, the name of a handler or of a script element, text that
reads as a call.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    COMPOSED_STRING,
    DECODED_STRING,
    HOST_HELD_TEXT,
    PRIMITIVE_UNKNOWNS,
    SCHEME_MARKS,
    TAINTED_STRING,
    Known,
    Value,
    known,
    of,
)
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.script_urls import are_whole_scheme, characters_of_scheme, may_be_script_url
from evalward.guard.interpret.script_texts import is_script
from evalward.guard.markup import is_running_name, runs_as_document, starts_like_script_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.domain.atoms import Atom
    from evalward.guard.interpret.run_state import RunState
# A call; `:not(…)` and `nth-child(…)` are selectors.
CALL = re.compile(r"(?<![\w$:.#-])[\w$.]+(?:\(|`)")
# What else a program does: an assignment, a change by one, a constructor without arguments.
_CHANGE = re.compile(r"=|\+\+|--|\b(?:new|delete|throw)\b")
# What parts of a text may become markup, a script's URL or a call again.
_TELLING_PARTS = re.compile(r"script\s*:|[<(`]", re.IGNORECASE)
_ESCAPED = re.compile(r"%[0-9a-fA-F]{2}")
_HOLDERS = frozenset({"array", "object"})
# Searches of the page: the text is not kept.
_QUERIES = frozenset(
    {"querySelector", "querySelectorAll", "closest", "matches", "locator", "waitForSelector"}
    | {"getElementById", "getElementsByTagName", "getElementsByClassName", "getAttribute", "hasAttribute"}
)


_ERROR = of(known("Error.prototype"))  # hands on what it was given by its own properties alone


@lru_cache(maxsize=256)  # the host gets the same texts again with each run of the code that gives them
def _telling(text: str) -> Value:
    found = _judged(text)
    # A host object gives back parts of what it was given, and they may be decoded then.
    return found | _judged(unquote(text)) if _ESCAPED.search(text) else found


def _judged(text: str) -> Value:
    if is_running_name(text):
        return of(text, COMPOSED_STRING)
    if runs_as_document(text) or ("&" in text and runs_as_document(html.unescape(text))):
        return of(text, ACTIVE_MARKUP)  # what gives back a part of it gives that
    return of(text) if starts_like_script_url(text) or CALL.search(text) else BOTTOM


@lru_cache(maxsize=256)
def may_run(text: str) -> bool:
    """Whether a text reads as a call, or is a program that changes something."""
    return CALL.search(text) is not None or (_CHANGE.search(text) is not None and is_script(text))


class HeldTexts:
    """Texts that the payload passed to host objects."""

    def __init__(self, state: RunState) -> None:
        self._dataflow = state.dataflow
        self._store = state.store
        self.given = (
            state.dataflow.add_register()
        )  # the join of the texts that objects of the host were given
        # What a page says (messages, errors, results of its functions), and programs that the host was given.
        self._told = state.dataflow.add_register()
        self._characters = state.dataflow.add_register()  # single ones that the host was given
        self._searched = state.dataflow.add_register()
        # What was found in an object while it held that, and the atoms to look into further.
        self._looked_into: dict[HeapObject, tuple[Value, Value, list[Atom]]] = {}

    def search(self, texts: Value) -> None:
        """Note texts that a regular expression searches."""
        self._dataflow.write(self._searched, texts)

    def last_match(self) -> Value:
        """Return the searched texts that a sink would judge; `RegExp.$1` may be any part of them."""
        searched = self._dataflow.read(self._searched)
        telling = frozenset(a for a in searched if type(a) is str and _TELLING_PARTS.search(a))
        return telling | of(DECODED_STRING) if telling else searched & of(ACTIVE_MARKUP, DECODED_STRING)

    def telling(self, values: Iterable[Value], *, inside: bool = True) -> Value:
        """Return the texts in values, and ``inside`` the objects among them, that a sink would judge."""
        dataflow = self._dataflow
        found: Value = BOTTOM
        seen: set[HeapObject] = set()
        pending: list[Atom] = []
        for value in values:
            given, objects = self._inside(value)
            found |= given | self._marks_of(value)
            if objects:
                pending.extend(each for each in objects if inside or each is HOST_HELD_TEXT)
        for atom in pending:
            if isinstance(atom, HeapObject) and atom.kind in _HOLDERS and atom not in seen:
                seen.add(atom)
                atom.readers[dataflow.reader] = None
                whole = atom.everything()
                known = self._looked_into.get(atom)
                if known is None or known[0] is not whole:
                    dataflow.spend(1 + (len(atom.properties) >> 3))
                    known = self._looked_into[atom] = (whole, *self._inside(whole))
                found |= known[1]
                pending.extend(known[2])
            elif atom is HOST_HELD_TEXT:
                found |= dataflow.read(self.given)
        return found

    def _inside(self, value: Value) -> tuple[Value, list[Atom]]:
        """Return the texts of a value that a sink would judge, and what may hold or stand for more of them."""
        found: Value = BOTTOM
        others: list[Atom] = []
        for atom in value:
            if type(atom) is str:
                self._dataflow.spend(len(atom) >> 6)
                found |= _telling(atom)
                if may_run(atom):
                    self._dataflow.write(self._told, of(atom))
            elif atom is ACTIVE_MARKUP:
                found |= of(ACTIVE_MARKUP)
            elif atom is HOST_HELD_TEXT or isinstance(atom, HeapObject):
                others.append(atom)
        return found, others

    def _marks_of(self, value: Value) -> Value:
        """Return the marks of a scheme that the payload gives to the host, perhaps one character at a time."""
        marks = value & SCHEME_MARKS
        if marks:
            return marks if may_be_script_url(value) else BOTTOM
        characters = characters_of_scheme(value)
        if not characters:
            return BOTTOM
        self._dataflow.write(self._characters, characters)
        return SCHEME_MARKS if are_whole_scheme(self._dataflow.read(self._characters)) else BOTTOM

    def hold(self, values: Iterable[Value], *, inside: bool = True) -> Value:
        """Note texts that the host is given; return those that a sink would judge."""
        texts = self.telling(values, inside=inside)
        if texts:
            self._dataflow.write(self.given, texts)
        return texts

    def tell(self, values: Iterable[Value]) -> None:
        """Note texts that a page says and its driver may read."""
        texts = self.telling(values)
        if texts:
            self._dataflow.write(self._told, texts)

    def told(self) -> Value:
        """Return the texts that a page said, of those that a sink would judge, and the programs that it was given."""
        return self._dataflow.read(self._told)

    def keep_in(self, made: Value, values: Iterable[Value]) -> None:
        """Let reads from new host objects return the texts that their constructor got."""
        targets = [a for a in made if isinstance(a, HeapObject) and a.kind == "object"]
        texts = self.telling(values)
        if not texts:
            return
        if not all(atom.prototype == _ERROR for atom in targets) or len(targets) != len(made):
            self._dataflow.write(self.given, texts)
        for target in targets:
            if any(type(atom) is Known for atom in target.prototype):
                self._store.extend(target)
                self._store.put_element(target, texts)

    def read(self) -> Value:
        """Return the texts that objects of the host were given, of those that a sink would judge."""
        return self._dataflow.read(self.given)

    def given_back(self) -> Value:
        """Return the value of any read from a host object that holds texts."""
        return self._dataflow.read(self.given) | of(HOST_HELD_TEXT)

    def perhaps_given_back(self, value: Value) -> Value:
        """Return a text from the page joined with those that the payload passed to the host: it may be one of them."""
        if TAINTED_STRING not in value:
            return value
        return value | frozenset(
            atom for atom in self._dataflow.read(self.given) if type(atom) is str or atom is ACTIVE_MARKUP
        )

    def asked(self, path: str) -> bool:
        """Whether a host function only searches for its argument."""
        return path.rpartition(".")[2] in _QUERIES

    def answered(self, path: str, made: Value, values: Iterable[Value]) -> Value:
        """Return the result of a function of the host, with the texts that it was given."""
        if self.asked(path):
            return made
        texts = self.hold(values)
        if not texts:
            return made
        for atom in made:
            if isinstance(atom, HeapObject) and atom.kind in {"promise", "array"}:
                self._store.put_element(atom, texts)
        return made | texts | (BOTTOM if made <= PRIMITIVE_UNKNOWNS else of(HOST_HELD_TEXT))
