"""The table of all transfer functions, by catalogue path.

A transfer function takes the machine and a call and returns the abstract result. A function without an entry is
not modelled: its arguments escape, and its result is the one in the catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.builtins import (
    array_callbacks,
    array_changes,
    arrays,
    blobs,
    case_mapping,
    cloning,
    codecs,
    contents,
    document,
    driver,
    driver_content,
    driver_events,
    driver_files,
    driver_handles,
    driver_options,
    driver_searches,
    electron_apis,
    encodings,
    events,
    found_nodes,
    function_prototype,
    json_text,
    keyed_collections,
    matching,
    objects,
    printing,
    promises,
    property_descriptors,
    proxies,
    reflect,
    strings,
    symbols,
    timers,
    trusted_types,
    urls,
)

if TYPE_CHECKING:
    from evalward.guard.interpret.machine import Transfer

TRANSFER: dict[str, Transfer] = {
    **strings.TRANSFER,
    **case_mapping.TRANSFER,
    **symbols.TRANSFER,
    **encodings.TRANSFER,
    **json_text.TRANSFER,
    **matching.TRANSFER,
    **arrays.TRANSFER,
    **array_callbacks.TRANSFER,
    **array_changes.TRANSFER,
    **objects.TRANSFER,
    **reflect.TRANSFER,
    **property_descriptors.TRANSFER,
    **proxies.TRANSFER,
    **function_prototype.TRANSFER,
    **printing.TRANSFER,
    **promises.TRANSFER,
    **codecs.TRANSFER,
    **cloning.TRANSFER,
    **keyed_collections.TRANSFER,
    **timers.TRANSFER,
    **trusted_types.TRANSFER,
    **document.TRANSFER,
    **contents.TRANSFER,
    **found_nodes.TRANSFER,
    **events.TRANSFER,
    **urls.TRANSFER,
    **blobs.TRANSFER,
    **driver.TRANSFER,
    **driver_content.TRANSFER,
    **driver_events.TRANSFER,
    **driver_files.TRANSFER,
    **driver_handles.TRANSFER,
    **driver_options.TRANSFER,
    **driver_searches.TRANSFER,
    **electron_apis.TRANSFER,
}
