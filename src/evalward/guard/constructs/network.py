"""Talk to the network.

**What.** `fetch`, `XMLHttpRequest`, `WebSocket`, `EventSource`, `WebTransport`, `RTCPeerConnection`,
`navigator.sendBeacon`. Off by default: `fetch('/api')` is what ordinary payloads do.

**Why switch it on.** The guard judges capabilities, not intent. A payload that may read the page and may talk to the
network may send what it reads. Where the agent has no business on the network, say so.

**Instead.** Return the data, and let the driver send it.

**References.** CWE-201; OWASP Top 10 for LLM applications, excessive agency. Content Security Policy (`connect-src`)
is the lasting answer where the page is yours.
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
