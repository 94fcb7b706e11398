"""Arguments reduced to the fields that are judged, and arguments with other values in some fields."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from evalward.tools.pointer import steps_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


def with_values(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``arguments`` with ``values`` in the places that their JSON Pointers name."""
    changed: dict[str, Any] = copy.deepcopy(dict(arguments))
    for pointer, value in values.items():
        *above, last = steps_of(pointer)
        place: Any = changed
        for step in above:
            place = place[_key(place, step)]
        place[_key(place, last)] = value
    return changed


def _key(place: Any, step: str) -> str | int:
    return int(step) if isinstance(place, list) else step
