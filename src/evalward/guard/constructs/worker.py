"""Start a worker or import a script into one.

**What.** `Worker`, `SharedWorker`, `navigator.serviceWorker`, worklets, `importScripts`,
Node's `worker_threads`.

**Why.** A worker runs code from a URL, which may be a `blob:` or `data:` URL made of text, in its own realm, which
outlives the payload. A service worker stays after the page is closed and answers the next page's requests.

**Instead.** Do the work in the payload, in steps if it is long.

**References.** HTML Standard §10; Service Workers; the `worker-src` directive of Content Security Policy.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Target

LABEL: Final = "worker"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Do the work in the payload, in several calls if it is long.",
        "Call a function that the page exposes.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("new Worker('data:text/javascript,1')", "typeof Worker", target=Target.RENDERER),
        Twins(
            "navigator.serviceWorker.register('/sw.js')",
            "'serviceWorker' in navigator",
            target=Target.RENDERER,
        ),
        Twins(
            "const W = globalThis['Shared' + 'Worker']; new W('x.js')",
            "const W = class { constructor(url) { this.url = url } }; new W('x.js')",
            target=Target.RENDERER,
        ),
    ),
    wakes="audioWorklet sharedStorageWorklet",
)
