"""``String`` and ``String.prototype``: folded for constants (ECMA-262 §22.1)."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from evalward.guard.builtins.constant_arguments import constants, integers
from evalward.guard.domain.atoms import (
    BOTTOM,
    COMPOSED_CHARACTER,
    DECODED_STRING,
    UNDEFINED,
    V_ANY_BOOLEAN,
    V_ANY_NUMBER,
    V_ANY_STRING,
    V_UNDEFINED,
    Primitive,
    Value,
    number,
    of,
)
from evalward.guard.domain.texts import character_of, part_of, unresolved_text
from evalward.guard.domain.values import join
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer

_BMP = 0xFFFF
_MAX_PRODUCT = 64
_MAX_REPEAT = 4_096


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


def _indexed(
    fold: Callable[[str, int | None, int | None], str],
    default: int | None = 0,
    unknown: Callable[[Value], Value] = part_of,
) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        texts = constants(machine, call.this, call)
        starts = integers(machine, call.arg(0), call, default)
        ends = integers(machine, call.arg(1), call, None)
        if (
            texts is None
            or starts is None
            or ends is None
            or len(texts) * len(starts) * len(ends) > _MAX_PRODUCT
        ):
            return unknown(machine.to_string(call.this, call.span))
        return frozenset(fold(text, start, end) for text in texts for start in starts for end in ends)

    return transfer


def _mapped(*folds: Callable[[str], str]) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        texts = constants(machine, call.this, call)
        if texts is None:
            return part_of(machine.to_string(call.this, call.span))
        return frozenset(fold(text) for text in texts for fold in folds)

    return transfer


def _at(machine: Machine, call: Call) -> Value:
    texts, indices = constants(machine, call.this, call), integers(machine, call.arg(0), call, 0)
    if texts is None or indices is None:
        return character_of(machine.to_string(call.this, call.span))
    result: Value = BOTTOM
    for text in texts:
        for index in indices:
            position = index or 0
            inside = -len(text) <= position < len(text)
            result = join(result, of(text[position]) if inside else V_UNDEFINED)
    return result


def _char_code_at(machine: Machine, call: Call) -> Value:
    texts, indices = constants(machine, call.this, call), integers(machine, call.arg(0), call, 0)
    if texts is None or indices is None:
        return V_ANY_NUMBER
    found = [(text, index) for text in texts for index in indices if index is not None]
    return frozenset(
        number(ord(text[index]) if 0 <= index < len(text) else float("nan")) for text, index in found
    )


def _index_of(machine: Machine, call: Call) -> Value:
    texts, others = constants(machine, call.this, call), constants(machine, call.arg(0), call)
    if texts is None or others is None or len(call.args) > 1:
        return V_ANY_NUMBER
    return frozenset(number(text.find(other)) for text in texts for other in others)


def _normalize(machine: Machine, call: Call) -> Value:
    texts, forms = (
        constants(machine, call.this, call),
        constants(machine, call.arg(0), call) if call.args else ["NFC"],
    )
    if texts is None or forms is None or not set(forms) <= {"NFC", "NFD", "NFKC", "NFKD"}:
        return part_of(machine.to_string(call.this, call.span))
    if any(unicodedata.category(letter) == "Cn" for text in texts for letter in text):
        # A newer version of Unicode may assign the letter a decomposition.
        return part_of(machine.to_string(call.this, call.span))
    return frozenset(unicodedata.normalize(form, text) for text in texts for form in forms)  # type: ignore[arg-type]


def _concat(machine: Machine, call: Call) -> Value:
    pieces = [machine.to_string(value, call.span) for value in (call.this, *call.args)]
    if call.rest:
        return unresolved_text((*pieces, *[machine.to_string(call.rest, call.span)] * 2))
    return machine.concatenated(pieces)


def _repeat(machine: Machine, call: Call) -> Value:
    texts, counts = constants(machine, call.this, call), integers(machine, call.arg(0), call, 0)
    if texts is None or counts is None:
        return part_of(machine.to_string(call.this, call.span))
    result: Value = BOTTOM
    for text in texts:
        for count in counts:
            size = max(count or 0, 0)
            repeated = (
                of(text * size) if len(text) * size <= _MAX_REPEAT else unresolved_text((of(text),) * 2)
            )
            result = join(result, repeated)
    return result


def _pad(*, at_start: bool) -> Transfer:
    def transfer(machine: Machine, call: Call) -> Value:
        texts, sizes = constants(machine, call.this, call), integers(machine, call.arg(0), call, 0)
        given = call.arg(1)
        fillers = constants(machine, (given - V_UNDEFINED) | ({" "} if UNDEFINED in given else BOTTOM), call)
        if texts is None or sizes is None or not fillers:
            return part_of(machine.to_string(call.this, call.span))
        made: Value = BOTTOM
        for text in texts:
            for size in sizes:
                for filler in fillers:
                    missing = (size or 0) - len(text)
                    if missing > _MAX_REPEAT:
                        return unresolved_text((of(*texts), of(*fillers), of(*texts)))
                    pad = (filler * (missing // len(filler) + 1))[:missing] if missing > 0 and filler else ""
                    made = join(made, of(pad + text if at_start else text + pad))
        return made

    return transfer


def _from_codes(machine: Machine, call: Call) -> Value:
    if call.rest:
        return of(DECODED_STRING)
    pieces: list[Value] = []
    for value in call.args:
        made: Value = BOTTOM
        for atom in machine.to_number(value, call.span):
            if type(atom) is not Primitive or atom.number != atom.number or not 0 <= atom.number <= 0x10FFFF:  # noqa: PLR2004
                made = of(COMPOSED_CHARACTER)
                break
            code = int(atom.number)
            made = join(made, of(chr(code & _BMP if call.path.endswith("CharCode") else code)))
        pieces.append(made)
    return machine.concatenated(pieces)


def _raw(machine: Machine, call: Call) -> Value:
    """``String.raw``: the chunks are cooked here, so only chunks without an escape are folded."""
    chunks = machine.items_of(machine.get(call.arg(0), "raw", call.span))
    if chunks is None or call.rest:
        return V_ANY_STRING
    pieces: list[Value] = []
    for index, chunk in enumerate(chunks):
        text = machine.to_string(chunk, call.span)
        pieces.append(text)
        if index + 1 < len(chunks) and index + 1 < len(call.args):
            pieces.append(machine.to_string(call.args[index + 1], call.span))
    return machine.concatenated(pieces)


def _string(machine: Machine, call: Call) -> Value:
    if not call.args and not call.rest:
        return of("")
    return machine.to_string(call.arg(0), call.span)


_P = "String.prototype."
TRANSFER: dict[str, Transfer] = {
    f"{_P}slice": _indexed(_slice),
    f"{_P}substring": _indexed(_substring),
    f"{_P}substr": _indexed(_substr),
    f"{_P}charAt": _indexed(_char_at, unknown=character_of),
    f"{_P}at": _at,
    f"{_P}charCodeAt": _char_code_at,
    f"{_P}codePointAt": lambda machine, call: join(_char_code_at(machine, call), V_UNDEFINED),
    f"{_P}indexOf": _index_of,
    f"{_P}concat": _concat,
    f"{_P}repeat": _repeat,
    f"{_P}padStart": _pad(at_start=True),
    f"{_P}padEnd": _pad(at_start=False),
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
    f"{_P}includes": lambda _run, _call: V_ANY_BOOLEAN,
    "String.fromCharCode": _from_codes,
    "String.fromCodePoint": _from_codes,
    "String.raw": _raw,
    "String": _string,
}
