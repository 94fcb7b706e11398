"""Functions of the page that take markup, attribute names or code (HTML Standard; guard.md §3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.constructs.rank import Rank
from evalward.guard.domain.atoms import (
    ANY_STRING,
    COMPOSED_CHARACTER,
    PLAIN_ELEMENT,
    SPELLS_ANY_NAME,
    TAINTED_STRING,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    V_UNKNOWN,
    Value,
    known,
    of,
)
from evalward.guard.domain.flow import Flow
from evalward.guard.interpret.named_elements import UNNAMED_ELEMENT
from evalward.guard.interpret.objects.page_sinks import INJECTION
from evalward.guard.interpret.unresolved_sinks import ELEMENT
from evalward.guard.markup import is_active, is_whole

if TYPE_CHECKING:
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_UNSAFE = (
    "set",
    "parse",
    "append",
    "prepend",
    "before",
    "after",
    "replaceWith",
)  # `setHTMLUnsafe` and the like
_OUTSIDE = SPELLS_ANY_NAME | {TAINTED_STRING}
_ELEMENT = of(known("Element"))
_PLAIN: Value = of(PLAIN_ELEMENT)
_RUNNING_ELEMENTS = frozenset({"script", "object", "embed"})


def _runs(name: str) -> bool:
    """Whether an element of a name, with or without a prefix, runs what it holds or loads."""
    return name.lower().rpartition(":")[2] in _RUNNING_ELEMENTS


def _write(machine: Machine, call: Call) -> Value:
    """``document.write``: markup that the page reads together with what was written before and comes after."""
    texts = machine.to_string(call.all(), call.span)
    if all(type(text) is str and is_whole(text) and not is_active(text) for text in texts):
        machine.sink("html", texts, call.span)
        return V_UNDEFINED
    machine.report(INJECTION, Rank.USED, call.span, None, "text is written into the document")
    return V_UNDEFINED


def _perhaps_write(machine: Machine, call: Call) -> Value:
    """Judge ``x.write(text)`` where x may be a document, and is mostly a stream."""
    for value in (*call.args, call.rest):
        machine.sink("html", value, call.span, certain=False)
        machine.leak(value, Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _perhaps_create_element(machine: Machine, call: Call) -> Value:
    """Judge ``x.createElement(name)`` where x may be a document, or a library that builds its own tree."""
    for atom in machine.to_string(call.arg(1 if call.path.endswith("NS") else 0), call.span):
        if type(atom) is str and _runs(atom):
            machine.report(INJECTION, Rank.USED, call.span, None, "a script element is made")
    for value in (*call.args, call.rest):
        machine.leak(value, Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _perhaps_exec_command(machine: Machine, call: Call) -> Value:
    """Judge ``x.execCommand(…)`` where x may be a document, or an editor."""
    machine.sink("html", call.arg(2), call.span, certain=False)
    for value in (*call.args, call.rest):
        machine.leak(value, Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _perhaps_markup(machine: Machine, call: Call) -> Value:
    """Judge ``x.createContextualFragment(text)`` and the like, where x may be of the page."""
    for value in (*call.args, call.rest):
        machine.sink("html", value, call.span, certain=False)
    machine.leak(call.all(), Flow.ARGUMENT, call.span)
    return V_UNKNOWN


def _for_each_token(machine: Machine, call: Call) -> Value:
    """``DOMTokenList.forEach``: the callback is given text of the page."""
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), call.arg(1), (of(TAINTED_STRING), V_ANY_NUMBER, call.this), call.span)
    return V_UNDEFINED


def _for_each_pair(machine: Machine, call: Call) -> Value:
    """``URLSearchParams.forEach``: the callback is given two texts."""
    machine.use(call.arg(0), Flow.CALLBACK, call.span)
    machine.call(call.arg(0), call.arg(1), (of(TAINTED_STRING), of(TAINTED_STRING), call.this), call.span)
    return V_UNDEFINED


def _insert_html(machine: Machine, call: Call) -> Value:
    machine.sink("html", call.arg(1), call.span)
    return V_UNDEFINED


def _set_attribute(machine: Machine, call: Call) -> Value:
    offset = 1 if call.path.endswith("NS") else 0
    machine.set_attribute(call.arg(offset), call.arg(offset + 1), call.span)
    if call.this & _ELEMENT and "src" in call.arg(offset):
        machine.sink("source", call.arg(offset + 1), call.span)
    machine.use(call.all(), Flow.COERCE, call.span)
    return V_UNDEFINED


def _create_element(machine: Machine, call: Call) -> Value:
    names = machine.to_string(call.arg(1 if call.path.endswith("NS") else 0), call.span)
    machine.expect_frames(names)
    for atom in names:
        if type(atom) is str:
            if _runs(atom):
                machine.report(INJECTION, Rank.USED, call.span, None, "a script element is made")
        elif atom is TAINTED_STRING and not machine.strict:
            machine.name_element(call.span)
        elif atom in _OUTSIDE or machine.strict:
            machine.report(
                INJECTION,
                Rank.BY_KEY,
                call.span,
                None,
                UNNAMED_ELEMENT,
            )
        elif atom is ANY_STRING or atom is COMPOSED_CHARACTER:
            machine.miss(ELEMENT, call.span)
    return _ELEMENT if TAINTED_STRING in names else _PLAIN  # what another name may be is judged here


def _create_document(machine: Machine, call: Call) -> Value:
    """``createDocument``: the root element has the given name, and may be moved to the page."""
    for atom in machine.to_string(call.arg(1), call.span):
        if type(atom) is not str:
            machine.report(INJECTION, Rank.BY_KEY, call.span, None, UNNAMED_ELEMENT)
        elif _runs(atom):
            machine.report(INJECTION, Rank.USED, call.span, None, "a script element is made")
    return of(known("document"))


def _create_attribute(machine: Machine, call: Call) -> Value:
    machine.set_attribute(call.arg(1 if call.path.endswith("NS") else 0), V_ANY_STRING, call.span)
    return _ELEMENT


OF_SCRIPTS = re.compile(r"(?:^|[\s>+~,(|/=:])script(?![\w-])[^\s>+~,]*\s*(?:[,)]|$)", re.IGNORECASE)
_SCRIPT: Value = of(known("ScriptElement"))
_SCRIPT_ATTRIBUTES = frozenset({"src", "href", "xlink:href"})


# The end of a selector that names what it finds by a tag: `div > input.wide:checked`.
_BY_TAG = re.compile(r"(?:.*[\s>+~])?([a-z][a-z0-9-]*)(?:[.#:][\w-]+|\[[^\[\],()]*\])*\s*", re.IGNORECASE)


def is_plain(selector: str) -> bool:
    """Whether what a selector finds is certainly no script: each of its parts ends in another element's name."""
    parts = [_BY_TAG.fullmatch(part) for part in selector.split(",")]
    return all(part is not None and not _runs(part[1]) for part in parts)


def _select(machine: Machine, call: Call) -> Value:
    """Find elements: what a selector of scripts finds may be one."""
    path = call.path.rpartition(".")[2]
    made = machine.materialize(machine.catalogue.get(call.path).result, call.span.start)
    selectors = call.arg(1 if path.endswith("NS") else 0)
    machine.expect_frames(selectors)
    if not any(type(text) is str and OF_SCRIPTS.search(text) for text in selectors):
        if selectors and all(type(text) is str and is_plain(text) for text in selectors):
            return _PLAIN if made == _ELEMENT else _of_plain(machine, call, path)
        return made
    if made == _ELEMENT:
        return made | _SCRIPT
    return machine.materialize(f"{_list_kind(path)}:@ScriptElement", call.span.start)


def _of_plain(machine: Machine, call: Call, path: str) -> Value:
    return machine.materialize(f"{_list_kind(path)}:element", call.span.start)


def _list_kind(path: str) -> str:
    return "array" if path.endswith("All") else "collection"


def _adopt(machine: Machine, call: Call) -> Value:
    """``importNode`` and ``adoptNode``: another element of the same kind, or the same one."""
    machine.leak(call.arg(0), Flow.ARGUMENT, call.span)
    return _ELEMENT | (call.arg(0) & _SCRIPT)


def _set_script_attribute(machine: Machine, call: Call) -> Value:
    offset = 1 if call.path.endswith("NS") else 0
    names = machine.to_string(call.arg(offset), call.span)
    if any(type(name) is not str or name.lower() in _SCRIPT_ATTRIBUTES for name in names):
        machine.sink("script", call.arg(offset + 1), call.span)
    machine.set_attribute(names, call.arg(offset + 1), call.span)
    return V_UNDEFINED


def _attribute_node(machine: Machine, call: Call) -> Value:
    names = machine.to_string(call.arg(1 if call.path.endswith("NS") else 0), call.span)
    handles = any(type(name) is str and name.lower().startswith("on") for name in names)
    return of(known("HandlerAttr" if handles else "Attr"))


def _toggle_attribute(machine: Machine, call: Call) -> Value:
    machine.set_attribute(call.arg(0), V_ANY_STRING, call.span)
    return V_ANY_BOOLEAN


def _exec_command(machine: Machine, call: Call) -> Value:
    commands = machine.to_string(call.arg(0), call.span)
    named = {atom.lower() if type(atom) is str else "" for atom in commands}
    if named & {"inserthtml", ""}:
        machine.sink("html", call.arg(2), call.span)
    if named & {"createlink", "insertimage", ""}:  # the others take text, or nothing
        machine.sink("url", call.arg(2), call.span)
    return V_ANY_BOOLEAN


def _setter(machine: Machine, call: Call) -> Value:
    machine.sink(call.path.removeprefix("setter "), call.arg(0), call.span)
    return V_UNDEFINED


def _parse_markup(machine: Machine, call: Call) -> Value:
    machine.sink("html", call.arg(0), call.span)
    return of(known("document"))


TRANSFER: dict[str, Transfer] = {
    "document.write": _write,
    "document.writeln": _write,
    "unknown.write": _perhaps_write,
    "unknown.createElement": _perhaps_create_element,
    "unknown.createElementNS": _perhaps_create_element,
    "unknown.execCommand": _perhaps_exec_command,
    **{
        f"unknown.{name}": _perhaps_markup
        for name in (
            "createContextualFragment",
            *(f"{name}HTMLUnsafe" for name in _UNSAFE),
        )
    },
    "unknown.markup": _perhaps_markup,
    "DOMTokenList.forEach": _for_each_token,
    "URLSearchParams.prototype.forEach": _for_each_pair,
    "document.createDocument": _create_document,
    "document.createElement": _create_element,
    "document.createElementNS": _create_element,
    "Element.insertAdjacentHTML": _insert_html,
    "Element.setAttribute": _set_attribute,
    "Element.setAttributeNS": _set_attribute,
    "document.createAttribute": _create_attribute,
    "document.createAttributeNS": _create_attribute,
    **{
        f"{owner}.{name}{suffix}": _attribute_node
        for owner, name in (("Element", "getAttributeNode"), ("NamedNodeMap", "getNamedItem"))
        for suffix in ("", "NS")
    },
    **{
        f"Element.{name}": _select
        for name in (
            "querySelector",
            "querySelectorAll",
            "closest",
            "getElementsByTagName",
            "getElementsByTagNameNS",
        )
    },
    "document.importNode": _adopt,
    "document.adoptNode": _adopt,
    "ScriptElement.setAttribute": _set_script_attribute,
    "ScriptElement.setAttributeNS": _set_script_attribute,
    "document.execCommand": _exec_command,
    "Element.toggleAttribute": _toggle_attribute,
    **{
        f"setter {kind}": _setter
        for kind in ("html", "script", "text", "document", "url", "value", "scheme", "handler", "navigate")
    },
    "DOMParser.prototype.parseFromString": _parse_markup,
}
