"""End or restart the Electron application.

**What.** `app.exit`, `app.quit` and `app.relaunch`, through any binding of the Electron module; a click on a menu
item that is chosen by its position, or without asking any item for its label, id or role, or in a payload with the word
`quit`. An item that any other test selects passes, whatever its role is.

**Why.** As for `process.exit`; and `relaunch` starts the application again with arguments that the payload chooses,
such as a debugging port.

**Instead.** Close a window through the user interface, or let the driver close the application.

**References.** Electron, `app`; Electron, command line switches (`--remote-debugging-port`).
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.target import Shape, Target

LABEL: Final = "electron-lifecycle"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Close the application from the driver: electronApp.close().",
        "Return a value instead of ending the application.",
    ),
    targets=(Target.MAIN, Target.NODE),
    examples=(
        Twins("({ app }) => app['ex' + 'it'](0)", "({ app }) => app.getVersion()", Shape.FUNCTION),
        Twins("electron.app.relaunch()", "electron.app.isReady()"),
        Twins("const { quit } = app; quit()", "const { getName } = app; getName()"),
    ),
    wakes="MenuItem buildFromTemplate getApplicationMenu",
)
