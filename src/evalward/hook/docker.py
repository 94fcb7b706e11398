"""Docker MCP Gateway: an interceptor, ``--interceptor before:exec:…``.

The input is the gateway's own structure as JSON. Nothing on stdout lets the call go on; a result is the answer instead
of a call. A failure of the command denies. The answer cannot change the arguments.
"""

from __future__ import annotations

from typing import Final

from evalward.adapters import to_call_tool_result
from evalward.hook.call import (
    Answer,
    HookCall,
    Outcome,
    arguments_of,
    as_json,
    member,
    read_object,
    text_of,
    unreadable,
)
from evalward.tools.servers import Named

TAKES_PROGRAMS: Final = False
_SEPARATOR: Final = "__"


def read(text: bytes) -> HookCall:
    """Return the call in the interceptor's input; raise CodedError."""
    params = member(read_object(text), "Params", "params")
    if not isinstance(params, dict):
        raise unreadable("has no object Params")
    folded = [name.casefold() for name in params]
    if len({*folded}) < len(folded):
        # Go reads both spellings of a name.
        raise unreadable("has a name in two spellings")
    arguments = params.get("arguments")
    return HookCall(_readings(text_of(params, "name")), arguments_of({} if arguments is None else arguments))


def answer(outcome: Outcome) -> Answer:
    """Return what the gateway reads on stdout."""
    return Answer(b"" if outcome.allowed else as_json(to_call_tool_result(outcome.envelope)))


def _readings(name: str) -> tuple[Named, ...]:
    """Return the readings of ``TOOL``, and of ``SERVER__TOOL``, which a feature of the gateway makes of it."""
    parts = name.split(_SEPARATOR)
    split = [(_SEPARATOR.join(parts[:at]), _SEPARATOR.join(parts[at:])) for at in range(1, len(parts))]
    return (Named(None, name), *(Named(server, tool) for server, tool in split if server and tool))
