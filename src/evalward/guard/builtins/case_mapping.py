"""Case mappings of strings: Unicode's, and those of Turkish (ECMA-262 §22.1.3, ECMA-402)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evalward.guard.domain.texts import part_of
from evalward.guard.domain.values import join

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.domain.atoms import (
        Value,
    )
    from evalward.guard.domain.call import Call
    from evalward.guard.interpret.machine import Machine, Transfer
from evalward.guard.builtins.constant_arguments import constants

# A new version of Unicode may give a letter its capital (U+019B in Unicode 16). The case of these is settled: Latin,
# the signs of Kelvin and Angstrom, the ligatures.
_UNSETTLED_CASE = re.compile(
    "[^\x00-\u019a\u019c-\u024f\u0370-\u052f\u1e00-\u1eff\u2000-\u206f\u2100-\u214f\u3000-\u9fff\uac00-\ud7a3\ufb00-\ufb06]"
)


_USUAL_LOCALE = re.compile(r"(?!tr|az|lt)[a-z]{2}(?:-[A-Z]{2})?")


def _cased(fold: Callable[[str], str], by_locale: Callable[[str], str] | None = None) -> Transfer:
    """Return a case mapping and its Turkish variant ``by_locale``; letters that Unicode may change are unknown."""

    def transfer(machine: Machine, call: Call) -> Value:
        texts = constants(machine, call.this, call)
        if texts is None or any(_UNSETTLED_CASE.search(text) for text in texts):
            return part_of(machine.to_string(call.this, call.span))
        folded: Value = frozenset(fold(text) for text in texts)
        if by_locale is None or _is_usual_locale(machine, call):
            return folded
        if not all(text.isascii() for text in texts):
            return join(folded, part_of(machine.to_string(call.this, call.span)))
        return folded | {by_locale(text) for text in texts}

    return transfer


def _is_usual_locale(machine: Machine, call: Call) -> bool:
    """Whether a locale is named, and is one that maps letters as Unicode does."""
    names = constants(machine, call.arg(0), call)
    return names is not None and all(_USUAL_LOCALE.fullmatch(name) for name in names)


def _turkish_lower(text: str) -> str:
    return text.replace("\u0130", "i").replace("I", "\u0131").lower()


def _turkish_upper(text: str) -> str:
    return text.replace("i", "\u0130").upper()


_P = "String.prototype."
TRANSFER: dict[str, Transfer] = {
    f"{_P}toLowerCase": _cased(str.lower),
    f"{_P}toLocaleLowerCase": _cased(str.lower, _turkish_lower),
    f"{_P}toUpperCase": _cased(str.upper),
    f"{_P}toLocaleUpperCase": _cased(str.upper, _turkish_upper),
}
