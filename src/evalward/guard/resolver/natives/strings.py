"""``String``, ``String.prototype``, ``RegExp``: folded for constants (ECMA-262 §22)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from evalward.guard.resolver import literals
from evalward.guard.resolver.heap import HeapObject
from evalward.guard.resolver.judgement import Flow
from evalward.guard.resolver.values import (
    BOTTOM,
    NULL,
    TEXT,
    V_BOOLEAN,
    V_NUMBER,
    V_STRING,
    V_UNDEFINED,
    Primitive,
    Value,
    join,
    number,
    of,
    string,
    symbol,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.resolver.calls import Call, Calls
    from evalward.guard.resolver.natives import Transfer

_BMP = 0xFFFF
_MAX_PRODUCT = 64
_MAX_REPEAT = 4_096


def unknown_like(value: Value) -> Value:
    """Return the unknown string, tainted when the value is."""
    return of(TEXT) if TEXT in value else V_STRING


def constants(run: Calls, value: Value, call: Call) -> list[str] | None:
    """Return the value's string constants, None when it is not all constants of the basic plane."""
    made = run.strings(value, call.start, call.end)
    texts = [atom for atom in made if type(atom) is str]
    if (
        not made
        or len(texts) != len(made)
        or any(not text.isascii() and max(text) > "\uffff" for text in texts)
    ):
        return None
    return sorted(texts)


def integers(run: Calls, value: Value, call: Call, default: int | None) -> list[int | None] | None:
    """Return an argument's integers; ``default`` stands for undefined; None when unknown."""
    found: list[int | None] = []
    for atom in value:
        if type(atom) is Primitive and atom.type == "undefined":
            found.append(default)
            continue
        for made in run.numbers(of(atom), call.start, call.end):
            if type(made) is not Primitive:
                return None
            n = made.number
            found.append(0 if n != n else int(max(min(n, 2**31), -(2**31))))  # noqa: PLR0124 - NaN
    return found or None


def _clamp(index: int, length: int) -> int:
    return max(length + index, 0) if index < 0 else min(index, length)


def _slice(text: str, start: int | None, end: int | None) -> str:
    length = len(text)
    return text[_clamp(start or 0, length) : length if end is None else _clamp(end, length)]


def _substring(text: str, start: int | None, end: int | None) -> str:
    length = len(text)
    low = min(max(start or 0, 0), length)
    high = length if end is None else min(max(end, 0), length)
    return text[min(low, high) : max(low, high)]


def _substr(text: str, start: int | None, count: int | None) -> str:
    low = _clamp(start or 0, len(text))
    return text[low : len(text) if count is None else low + max(count, 0)]


def _char_at(text: str, index: int | None, _: int | None) -> str:
    return text[index] if index is not None and 0 <= index < len(text) else ""


def _indexed(fold: Callable[[str, int | None, int | None], str], default: int | None = 0) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        texts = constants(run, call.this, call)
        starts = integers(run, call.arg(0), call, default)
        ends = integers(run, call.arg(1), call, None)
        if (
            texts is None
            or starts is None
            or ends is None
            or len(texts) * len(starts) * len(ends) > _MAX_PRODUCT
        ):
            return unknown_like(run.strings(call.this, call.start, call.end))
        return frozenset(fold(text, start, end) for text in texts for start in starts for end in ends)

    return transfer


def _mapped(fold: Callable[[str], str]) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        texts = constants(run, call.this, call)
        if texts is None:
            return unknown_like(run.strings(call.this, call.start, call.end))
        return frozenset(fold(text) for text in texts)

    return transfer


def _at(run: Calls, call: Call) -> Value:
    texts, indices = constants(run, call.this, call), integers(run, call.arg(0), call, 0)
    if texts is None or indices is None:
        return unknown_like(call.this)
    result: Value = BOTTOM
    for text in texts:
        for index in indices:
            position = index or 0
            inside = -len(text) <= position < len(text)
            result = join(result, of(text[position]) if inside else V_UNDEFINED)
    return result


def _char_code_at(run: Calls, call: Call) -> Value:
    texts, indices = constants(run, call.this, call), integers(run, call.arg(0), call, 0)
    if texts is None or indices is None:
        return V_NUMBER
    found = [(text, index) for text in texts for index in indices if index is not None]
    return frozenset(
        number(ord(text[index]) if 0 <= index < len(text) else float("nan")) for text, index in found
    )


def _index_of(run: Calls, call: Call) -> Value:
    texts, others = constants(run, call.this, call), constants(run, call.arg(0), call)
    if texts is None or others is None or len(call.args) > 1:
        return V_NUMBER
    return frozenset(number(text.find(other)) for text in texts for other in others)


def _normalize(run: Calls, call: Call) -> Value:
    texts, forms = (
        constants(run, call.this, call),
        constants(run, call.arg(0), call) if call.args else ["NFC"],
    )
    if texts is None or forms is None or not set(forms) <= {"NFC", "NFD", "NFKC", "NFKD"}:
        return unknown_like(call.this)
    return frozenset(unicodedata.normalize(form, text) for text in texts for form in forms)  # type: ignore[arg-type]


def _concat(run: Calls, call: Call) -> Value:
    if call.rest:
        return V_STRING
    return run.concatenated([run.strings(value, call.start, call.end) for value in (call.this, *call.args)])


def _repeat(run: Calls, call: Call) -> Value:
    texts, counts = constants(run, call.this, call), integers(run, call.arg(0), call, 0)
    if texts is None or counts is None:
        return unknown_like(call.this)
    result: Value = BOTTOM
    for text in texts:
        for count in counts:
            size = max(count or 0, 0)
            result = join(result, string(text * size) if len(text) * size <= _MAX_REPEAT else V_STRING)
    return result


def _pad(*, at_start: bool) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        texts, sizes = constants(run, call.this, call), integers(run, call.arg(0), call, 0)
        fillers = constants(run, call.arg(1), call) if len(call.args) > 1 else [" "]
        if texts is None or sizes is None or not fillers:
            return unknown_like(call.this)
        made: Value = BOTTOM
        for text in texts:
            for size in sizes:
                for filler in fillers:
                    missing = (size or 0) - len(text)
                    if missing > _MAX_REPEAT:
                        return V_STRING
                    pad = (filler * (missing // len(filler) + 1))[:missing] if missing > 0 and filler else ""
                    made = join(made, of(pad + text if at_start else text + pad))
        return made

    return transfer


def _split(run: Calls, call: Call) -> Value:
    array = run.allocate("array", call.start, "split")
    texts = constants(run, call.this, call)
    separators = constants(run, call.arg(0), call) if call.args and not _pattern(call.arg(0)) else None
    if texts is None or separators is None or len(texts) != 1 or len(separators) != 1 or len(call.args) > 1:
        run.inexact(array)
        run.put_element(array, unknown_like(run.strings(call.this, call.start, call.end)))
        return join(call_symbol(run, call, "split"), of(array))
    pieces = texts[0].split(separators[0]) if separators[0] else list(texts[0])
    if array.items and len(array.items) != len(pieces):
        run.inexact(array)
    for index, piece in enumerate(pieces[:_MAX_REPEAT]):
        run.put_item(array, index, of(piece))
    return of(array)


def _pattern(value: Value) -> bool:
    return any(not (type(atom) is str or type(atom) is Primitive) for atom in value)


def call_symbol(run: Calls, call: Call, name: str) -> Value:
    """Call the ``Symbol.<name>`` method that an argument object defines: an implicit call is a call."""
    result: Value = BOTTOM
    for atom in call.arg(0):
        if isinstance(atom, HeapObject):
            method = run.own_or_payload(atom, f"@@{name}")
            if method:
                run.use(method, Flow.CALLBACK, call.start, call.end)
                result = join(
                    result, run.call(method, of(atom), (call.this, call.arg(1)), call.start, call.end)
                )
    return result


def _searching(name: str, result: Value) -> Transfer:
    def transfer(run: Calls, call: Call) -> Value:
        return join(call_symbol(run, call, name), result)

    return transfer


def _replace(run: Calls, call: Call) -> Value:
    custom = call_symbol(run, call, "replace")
    if custom:
        return join(custom, V_STRING)
    text, replacement = run.strings(call.this, call.start, call.end), call.arg(1)
    functions = frozenset(atom for atom in replacement if not (type(atom) is str or type(atom) is Primitive))
    if functions:
        run.use(functions, Flow.CALLBACK, call.start, call.end)
        match = V_STRING if not _pattern(call.arg(0)) else unknown_like(text)
        args = [call.arg(0) if not _pattern(call.arg(0)) else match, *[join(match, V_UNDEFINED)] * 3]
        run.strings(run.call(functions, V_UNDEFINED, args, call.start, call.end), call.start, call.end)
        return unknown_like(text)
    texts, olds = (
        constants(run, call.this, call),
        constants(run, call.arg(0), call) if not _pattern(call.arg(0)) else None,
    )
    news = constants(run, replacement, call)
    if texts is None or news is None or any("$" in new for new in news):
        return unknown_like(text)
    if olds is None:
        return _replace_pattern(call.arg(0), texts, news) or unknown_like(text)
    count = -1 if call.path.endswith("All") else 1
    if len(texts) * len(olds) * len(news) > _MAX_PRODUCT:
        return V_STRING
    return frozenset(one.replace(old, new, count) for one in texts for old in olds for new in news)


_SIMPLE_PATTERN = re.compile(
    r"\^?(?:[\w\s\-,;:!#%&@~_'\"<>/=]|\\[.\-/$^*+?()\[\]{}|ds]|\[(?:[\w\s\-.,;:!#%&@~_]|\\[.\-\]])+\]|\+)*\$?\Z"
)


def _replace_pattern(pattern: Value, texts: list[str], news: list[str]) -> Value:
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
                if set(flag) - {"g", "i"}:
                    return BOTTOM
                compiled = re.compile(source, re.IGNORECASE if "i" in flag else re.NOFLAG)
                count = 0 if "g" in flag else 1
                made = [
                    compiled.sub(lambda _m, new=new: new, text, count=count) for text in texts for new in news
                ]  # type: ignore[misc]
                result = join(result, frozenset(made))
    return result


def _from_codes(run: Calls, call: Call) -> Value:
    if call.rest:
        return V_STRING
    pieces: list[Value] = []
    for value in call.args:
        made: Value = BOTTOM
        for atom in run.numbers(value, call.start, call.end):
            if type(atom) is not Primitive or atom.number != atom.number or not 0 <= atom.number <= 0x10FFFF:  # noqa: PLR2004
                return V_STRING
            code = int(atom.number)
            made = join(made, of(chr(code & _BMP if call.path.endswith("CharCode") else code)))
        pieces.append(made)
    return run.concatenated(pieces)


def _raw(run: Calls, call: Call) -> Value:
    """``String.raw``: the chunks are cooked here, so only chunks without an escape are folded."""
    chunks = run.items_of(run.get(call.arg(0), "raw", call.start, call.end))
    if chunks is None or call.rest:
        return V_STRING
    pieces: list[Value] = []
    for index, chunk in enumerate(chunks):
        text = run.strings(chunk, call.start, call.end)
        pieces.append(text)
        if index + 1 < len(chunks) and index + 1 < len(call.args):
            pieces.append(run.strings(call.args[index + 1], call.start, call.end))
    return run.concatenated(pieces)


def _string(run: Calls, call: Call) -> Value:
    if not call.args and not call.rest:
        return of("")
    return run.strings(call.arg(0), call.start, call.end)


def _symbol(run: Calls, call: Call) -> Value:
    text = run.strings(call.arg(0), call.start, call.end)
    names = [atom for atom in text if type(atom) is str]
    return frozenset(symbol(f" {name}") for name in names) if len(names) == len(text) else of(symbol(" any"))


def _symbol_text(run: Calls, call: Call) -> Value:
    text = run.get(call.this, "description", call.start, call.end)
    return run.concatenated((of("Symbol("), text, of(")")))


def _regexp(run: Calls, call: Call) -> Value:
    made = run.allocate("regexp", call.start)
    source = run.strings(call.arg(0), call.start, call.end)
    run.put_element(made, source)
    run.put(made, "source", source)
    run.put(made, "flags", run.strings(call.arg(1), call.start, call.end) if len(call.args) > 1 else of(""))
    return of(made)


def _exec(run: Calls, call: Call) -> Value:
    array = run.allocate("array", call.start, "match")
    run.inexact(array)
    text = run.strings(
        join(call.arg(0), call.this) if call.path.startswith("String") else call.arg(0), call.start, call.end
    )
    run.put_element(array, join(unknown_like(text), V_UNDEFINED))
    groups = run.allocate("object", call.start, "groups")
    groups.extensible = True
    run.put_element(groups, unknown_like(text))
    run.put(array, "groups", of(groups))
    run.put(array, "index", V_NUMBER)
    run.put(array, "input", unknown_like(text))
    custom = call_symbol(run, call, call.path.rpartition(".")[2])
    if call.path.endswith("matchAll"):
        outer = run.allocate("array", call.start, "matches")
        run.inexact(outer)
        run.put_element(outer, of(array))
        return join(custom, of(outer))
    return join(custom, of(array, NULL))


_P = "String.prototype."
TRANSFER: dict[str, Transfer] = {
    f"{_P}slice": _indexed(_slice),
    f"{_P}substring": _indexed(_substring),
    f"{_P}substr": _indexed(_substr),
    f"{_P}charAt": _indexed(_char_at),
    f"{_P}at": _at,
    f"{_P}charCodeAt": _char_code_at,
    f"{_P}codePointAt": _char_code_at,
    f"{_P}indexOf": _index_of,
    f"{_P}concat": _concat,
    f"{_P}repeat": _repeat,
    f"{_P}padStart": _pad(at_start=True),
    f"{_P}padEnd": _pad(at_start=False),
    f"{_P}split": _split,
    f"{_P}search": _searching("search", V_NUMBER),
    f"{_P}match": _exec,
    f"{_P}matchAll": _exec,
    f"{_P}replace": _replace,
    f"{_P}replaceAll": _replace,
    f"{_P}toLowerCase": _mapped(str.lower),
    f"{_P}toLocaleLowerCase": _mapped(str.lower),
    f"{_P}toUpperCase": _mapped(str.upper),
    f"{_P}toLocaleUpperCase": _mapped(str.upper),
    f"{_P}trim": _mapped(literals.trim),
    f"{_P}trimStart": _mapped(
        lambda text: text[text.find(literals.trim(text)[:1]) :] if literals.trim(text) else ""
    ),
    f"{_P}trimEnd": _mapped(
        lambda text: text[: text.rfind(literals.trim(text)[-1:]) + 1] if literals.trim(text) else ""
    ),
    f"{_P}toString": _mapped(str),
    f"{_P}valueOf": _mapped(str),
    f"{_P}normalize": _normalize,
    f"{_P}italics": _mapped(lambda text: f"<i>{text}</i>"),
    f"{_P}bold": _mapped(lambda text: f"<b>{text}</b>"),
    f"{_P}includes": lambda _run, _call: V_BOOLEAN,
    "String.fromCharCode": _from_codes,
    "String.fromCodePoint": _from_codes,
    "String.raw": _raw,
    "String": _string,
    "Symbol": _symbol,
    "Symbol.for": _symbol,
    "Symbol.keyFor": lambda run, call: run.get(call.arg(0), "description", call.start, call.end),
    "Symbol.prototype.toString": _symbol_text,
    "RegExp": _regexp,
    "RegExp.prototype.exec": _exec,
}
