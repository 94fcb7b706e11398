"""Open a file or a URL outside the application.

**What.** `shell.openExternal`, `openPath`, `showItemInFolder`, `trashItem` and every other member of Electron's
`shell` but `beep`.

**Why.** The operating system runs the program that is registered for the scheme or the file type, without asking.
Electron's own security checklist warns against `openExternal` with untrusted content.

**Instead.** Return the URL; a person or the driver decides.

**References.** Electron, security checklist, "Do not use `shell.openExternal` with untrusted content"; CWE-78.
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.target import Shape, Target

LABEL: Final = "electron-shell"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Return the URL or path instead of opening it.",
        "Open pages in the driver: page.goto(url).",
    ),
    targets=(Target.MAIN,),
    examples=(
        Twins(
            "({ shell }) => shell.openExternal('https://example.org')",
            "({ app }) => 'https://example.org'",
            Shape.FUNCTION,
        ),
        Twins("electron['sh' + 'ell'].trashItem('/tmp/a')", "electron['sh' + 'ell'].beep()"),
    ),
)
