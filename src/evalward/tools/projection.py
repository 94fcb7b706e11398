"""Arguments reduced to the fields that are judged: no other value leaves the process of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def only(value: Any, paths: Sequence[tuple[str, ...]]) -> Any:
    """Return ``value`` reduced to the places of ``paths``, so that no password is sent along with code."""
    if () in paths:
        return value
    below: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    if isinstance(value, dict):
        return {key: only(item, below[key]) for key, item in value.items() if key in below}
    if isinstance(value, list):
        # Null keeps the indices, so that the paths stay valid.
        return [only(item, below[str(i)]) if str(i) in below else None for i, item in enumerate(value)]
    return None
