"""Use the network.

**What.** `fetch`, `XMLHttpRequest`, `WebSocket`, `EventSource`, `WebTransport`, `RTCPeerConnection`,
`navigator.sendBeacon`. Off by default: ordinary payloads call `fetch('/api')`.

**Why switch it on.** The guard judges capabilities, not intent. A payload that may read the page and use the network
may send what it reads. Switch this on where the agent does not need the network.

**Instead.** Return the data, and let the driver send it.

**References.** CWE-201; OWASP Top 10 for LLM applications, excessive agency. Content Security Policy (`connect-src`)
is the permanent solution where you control the page.
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.rules import Action
from evalward.guard.target import Target

LABEL: Final = "network"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Return the data and send it from the driver.", "Use the driver's own request tool."),
    targets=(Target.RENDERER, Target.MAIN, Target.NODE),
    examples=(
        Twins("fetch('https://example.org/?' + document.title)", "document.title"),
        Twins(
            "const S = globalThis['Web' + 'Socket']; new S('wss://example.org')",
            "typeof globalThis['Web' + 'Socket']",
        ),
        Twins("navigator.sendBeacon('/log', 'x')", "navigator.userAgent"),
    ),
    default=Action.ALLOW,
)
