"""What built-in functions do: one module per family, each a table from catalogue path to transfer function.

A transfer function takes the interpreter and a call and returns the abstract result. What stands in no table is
treated as unmodelled: its arguments are handed over and its result is what the catalogue says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from evalward.guard.resolver.natives import (
    array_changes,
    arrays,
    codecs,
    collections,
    document,
    driver,
    electron,
    encodings,
    events,
    functions,
    json_text,
    objects,
    patterns,
    promises,
    proxies,
    reflection,
    strings,
    timers,
    urls,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.resolver.calls import Call, Calls
    from evalward.guard.resolver.values import Value

Transfer: TypeAlias = "Callable[[Calls, Call], Value]"

TRANSFER: dict[str, Transfer] = {
    **strings.TRANSFER,
    **encodings.TRANSFER,
    **json_text.TRANSFER,
    **patterns.TRANSFER,
    **arrays.TRANSFER,
    **array_changes.TRANSFER,
    **objects.TRANSFER,
    **reflection.TRANSFER,
    **proxies.TRANSFER,
    **functions.TRANSFER,
    **promises.TRANSFER,
    **codecs.TRANSFER,
    **collections.TRANSFER,
    **timers.TRANSFER,
    **document.TRANSFER,
    **events.TRANSFER,
    **urls.TRANSFER,
    **driver.TRANSFER,
    **electron.TRANSFER,
}
