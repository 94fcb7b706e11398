"""Leave the page, or open another one.

**What.** Writes to `location`, `location.assign`, `replace` and `reload`, `open`, the moves of `history`,
`form.submit()`, a window's `loadURL` and `loadFile`. Off by default. `javascript:` URLs are `dom-script-injection`,
always.

**Why switch it on.** The page and the state of the test are lost, and a URL can carry data out.

**Instead.** Navigate with the driver, which waits for the page and knows where it is.

**References.** CWE-601; HTML Standard §7.4.
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.rules import Action
from evalward.guard.target import Shape, Target

LABEL: Final = "navigation"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Navigate with the driver: page.goto(url).", "Click the link instead of setting location."),
    targets=(Target.RENDERER, Target.MAIN),
    examples=(
        Twins("location.href = '/next'", "location.href.endsWith('/next')"),
        Twins("location['ass' + 'ign']('/next')", "Object['ass' + 'ign']({}, { next: 1 })"),
        Twins("window.open('https://example.org')", "window.open === undefined"),
        Twins(
            "({ BrowserWindow: B }) => B.getAllWindows()[0].loadURL('about:blank')",
            "({ BrowserWindow: B }) => B.getAllWindows()[0].getTitle()",
            Shape.FUNCTION,
            Target.MAIN,
        ),
    ),
    default=Action.ALLOW,
    wakes="navigate",
)
