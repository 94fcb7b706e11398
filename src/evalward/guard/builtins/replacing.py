"""Replacing, by text, by regular expression and by callback (ECMA-262 §22.1.3.19, §22.2.6.11)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.builtins.constant_arguments import constants
from evalward.guard.builtins.pattern_protocol import call_symbol, inside, is_pattern, own_exec, texts_inside
from evalward.guard.domain.atoms import (
    ACTIVE_MARKUP,
    BOTTOM,
    COMPOSED_CHARACTER,
    COMPOSED_STRING,
    DECODED_STRING,
    SPELLS_ANY_NAME,
    TAINTED_STRING,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    Primitive,
    Value,
    of,
)
from evalward.guard.domain.call import Call
from evalward.guard.domain.decodable import begins_name, may_leave
from evalward.guard.domain.flow import Flow
from evalward.guard.domain.heap import HeapObject
from evalward.guard.domain.hidden_texts import without_substitutions
from evalward.guard.domain.script_urls import marks_of_characters, scheme_marks
from evalward.guard.domain.texts import decoding_of, part_of
from evalward.guard.domain.values import join
from evalward.guard.interpret.atom_order import objects_of
from evalward.guard.markup import is_active, is_running_name, is_script_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.guard.interpret.machine import Machine

_MAX_PRODUCT = 64
_MAX_EMPTIED = 4
_MAX_SEARCH = 1_000_000
_SEARCH_PER_STEP = 100
_CLASS_OPERATORS = ("--", "&&", "||", "~~", "[[")  # sets of a later dialect
_FIRST_SURROGATE = chr(0xD800)
_OVER_SPACES = re.compile(r"\\s[+*?]")
_SIMPLE_PATTERN = re.compile(
    r"\^?(?:[\w\s\-,;:!#%&@~_'\"<>/=]|[^\x00-\x7f]|\\[.\-/$^*+?()\[\]{}|ds]"
    r"|\\u(?![Dd][89A-Fa-f])[0-9A-Fa-f]{4}|\[(?:[\w\s\-.,;:!#%&@~_]|\\[.\-\]])+\]|[+*?](?![+*?]))*\$?\Z"
)


def replace(machine: Machine, call: Call) -> Value:
    """``String.prototype.replace`` and ``replaceAll``."""
    custom = call_symbol(machine, call, "replace")
    text, replacement = machine.to_string(call.this, call.span), call.arg(1)
    found = own_exec(machine, call.arg(0), call)
    if custom or found:
        return join(custom, _replace_found(machine, call, found, text))
    functions = frozenset(atom for atom in replacement if not (type(atom) is str or type(atom) is Primitive))
    objects = frozenset(a for a in objects_of(functions) if not (a.callable or a.kind == "proxy"))
    if objects:
        new = machine.to_string(objects, call.span)
        others = Call(call.path, call.this, (call.arg(0), replacement - objects), BOTTOM, call.span)
        rest = replace(machine, others) if others.args[1] else BOTTOM
        return join(rest, join(new, part_of(join(text, new))))
    if functions:
        machine.use(functions, Flow.CALLBACK, call.span)
        match = V_ANY_STRING if not is_pattern(call.arg(0)) else part_of(text)
        args = [call.arg(0) if not is_pattern(call.arg(0)) else match, *[join(match, V_UNDEFINED)] * 3]
        groups = machine.allocate("object", call.span.start, "groups")
        machine.extend(groups)
        machine.put_element(groups, match)
        more = join(join(match, V_ANY_NUMBER), join(of(groups), V_UNDEFINED))
        made = machine.call(functions, V_UNDEFINED, args, call.span, more)
        return _respelt(text, machine.to_string(made, call.span)) | _emptied(machine, call)
    texts, olds = (
        constants(machine, call.this, call),
        constants(machine, call.arg(0), call) if not is_pattern(call.arg(0)) else None,
    )
    news = constants(machine, replacement, call)
    if texts is None and news is not None and any(is_active(new) for new in news):
        return of(ACTIVE_MARKUP)
    if texts is None or news is None or any("$" in new for new in news):
        made = of(DECODED_STRING) if texts is not None and may_leave(texts) else part_of(text)
        if news is None:
            return made | _emptied(machine, call)
        # What `$&` and its like stand for may be empty.
        return (
            made | scheme_marks((V_ANY_STRING, frozenset(news))) | _telling(map(without_substitutions, news))
        )
    if olds is None:
        folded = _replace_pattern(machine, call.arg(0), texts, news)
        return folded or (of(DECODED_STRING) if may_leave(texts) else part_of(text))
    count = -1 if call.path.endswith("All") else 1
    if len(texts) * len(olds) * len(news) > _MAX_PRODUCT:
        return part_of(join(text, of(*news)))
    return frozenset(one.replace(old, new, count) for one in texts for old in olds for new in news)


def _emptied(machine: Machine, call: Call) -> Value:
    """Return a constant text without what is replaced: what it is replaced with may be empty."""
    texts = constants(machine, call.this, call)
    if texts is None or len(texts) > _MAX_EMPTIED:
        return BOTTOM
    if is_pattern(call.arg(0)):
        return _telling(a for a in _replace_pattern(machine, call.arg(0), texts, [""]) if type(a) is str)
    olds = constants(machine, call.arg(0), call)
    count = -1 if call.path.endswith("All") else 1
    return BOTTOM if olds is None else _telling(one.replace(old, "", count) for one in texts for old in olds)


def _telling(texts: Iterable[str]) -> Value:
    """Return those texts that a sink would judge, or that begin a name: others say no more than what is unknown."""
    return frozenset(
        text
        for text in texts
        if begins_name((text,)) or is_running_name(text) or is_script_url(text) or is_active(text)
    )


def _replace_found(machine: Machine, call: Call, found: Value, text: Value) -> Value:
    """Replace what an ``exec`` of the payload finds: its results reach the callback, and the text itself."""
    pieces = texts_inside(machine, found, call)
    functions = frozenset(atom for atom in call.arg(1) if not (type(atom) is str or type(atom) is Primitive))
    machine.use(functions, Flow.CALLBACK, call.span)
    given = join(join(pieces, inside(machine, found, call)), V_ANY_STRING)
    made = machine.call(functions, V_UNDEFINED, (given,), call.span, join(given, V_ANY_NUMBER))
    new = machine.to_string(made if functions else call.arg(1), call.span)
    return join(join(pieces, new), part_of(join(text, join(pieces, new))))


def _respelt(text: Value, made: Value) -> Value:
    """Return a text with parts replaced by a callback: decoded if the callback's results are."""
    if made & (SPELLS_ANY_NAME | {COMPOSED_CHARACTER}):
        own = any(type(atom) is str or atom in SPELLS_ANY_NAME or atom is COMPOSED_CHARACTER for atom in text)
        return decoding_of(text) if own and TAINTED_STRING not in text else of(COMPOSED_STRING)
    letters = frozenset(atom for atom in made if type(atom) is str)
    marks = scheme_marks((V_ANY_STRING, letters)) | marks_of_characters(letters)
    return part_of(join(text, made)) | marks


def _replace_pattern(machine: Machine, pattern: Value, texts: list[str], news: list[str]) -> Value:
    """Fold a replacement by a regular expression that means the same in Python's dialect."""
    result: Value = BOTTOM
    for atom in pattern:
        if not isinstance(atom, HeapObject) or atom.kind != "regexp":
            return BOTTOM
        sources, flags = atom.properties.get("source", BOTTOM), atom.properties.get("flags", BOTTOM)
        for source in sources:
            for flag in flags:
                if type(source) is not str or type(flag) is not str or not _SIMPLE_PATTERN.match(source):
                    return BOTTOM
                if set(flag) - {"g", "i"} or not _is_alike(source, flag, texts):
                    return BOTTOM
                compiled = _compiled(source, flag)
                if compiled is None or not _is_affordable(machine, source, texts, news):
                    return BOTTOM
                count = 0 if "g" in flag else 1
                made = [
                    compiled.sub(new.replace("\\", r"\\"), text, count=count)
                    for text in texts
                    for new in news
                ]
                result = join(result, frozenset(made))
    return result


def _is_alike(source: str, flags: str, texts: list[str]) -> bool:
    """Whether both dialects match the same letters: beyond ASCII, case, white space and long characters differ."""
    return all(map(str.isascii, (source, *texts))) or (
        not flags.strip("g")
        and r"\s" not in source
        and max(map(max, (source, *filter(None, texts)))) < _FIRST_SURROGATE
    )


def _compiled(source: str, flags: str) -> re.Pattern[str] | None:
    """Return the pattern in Python's dialect, None for one that it does not have or will read otherwise."""
    if any(operator in source for operator in _CLASS_OPERATORS):
        return None
    dialect = re.sub(r"(?<!\\)\$\Z", r"\\Z", source)
    try:
        return re.compile(dialect, re.ASCII | (re.IGNORECASE if "i" in flags else re.NOFLAG))
    except re.error:
        return None


def _is_affordable(machine: Machine, source: str, texts: list[str], news: list[str]) -> bool:
    """Whether the search ends soon: every quantifier may go through the rest of the text from each place in it."""
    over_spaces = len(_OVER_SPACES.findall(source))
    over_text = 1 + source.count("+") + source.count("*") + source.count("?") - over_spaces
    cost = sum(len(text) ** over_text * (1 + _longest_space(text)) ** over_spaces for text in texts)
    cost *= len(source) * len(news)
    if cost > _MAX_SEARCH:
        return False
    machine.spend(cost // _SEARCH_PER_STEP)
    return True


def _longest_space(text: str) -> int:
    return max(map(len, re.findall(r"\s+", text, re.ASCII)), default=0)
