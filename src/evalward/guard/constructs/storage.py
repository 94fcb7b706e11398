"""Read or write stored data of the page.

**What.** `localStorage`, `sessionStorage`, `indexedDB`, `caches`, `cookieStore`, `document.cookie`, and a browser
context's cookies and storage state, the cookies of an Electron session. Off by default.

**Why switch it on.** Session tokens live there. A payload that reads them can act as the user elsewhere; one that
writes them can plant a session.

**Instead.** Read what the page shows.

**References.** CWE-922, CWE-539; OWASP, HTML5 security, web storage.
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.rules import Action
from evalward.guard.target import Target

LABEL: Final = "storage"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Read what the page shows instead of what it stores.", "Set up sessions in the driver."),
    targets=(Target.RENDERER, Target.NODE),
    examples=(
        Twins("localStorage.getItem('token')", "document.body.dataset.token"),
        Twins("window['session' + 'Storage'].clear()", "new Map().clear()"),
        Twins("document.cookie", "document.title"),
    ),
    default=Action.ALLOW,
)
