"""Numbers as JavaScript prints them (ECMA-262 §6.1.6.1.20)."""

from __future__ import annotations

from decimal import Decimal

_EXACT = 2**53  # below it, every integer has its own digits


def number_text(value: float) -> str:
    """Return ``Number::toString`` (ECMA-262 §6.1.6.1.20) for radix 10."""
    if value != value:  # noqa: PLR0124 - the definition of NaN
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < _EXACT:
        return str(int(value))
    # Python, too, prints the fewest digits that parse to the same number.
    sign, figures, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, figures))
    point = len(digits) + int(exponent)
    text = _placed(digits, point)
    return f"-{text}" if sign else text


def _placed(digits: str, point: int) -> str:
    """Return digits whose decimal point stands after the first ``point``, with the bounds of the standard."""
    if len(digits) <= point <= 21:  # noqa: PLR2004
        return digits.ljust(point, "0")
    if 0 < point <= 21:  # noqa: PLR2004
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:  # noqa: PLR2004
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"
