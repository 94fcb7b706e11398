"""Read or write the clipboard.

**What.** `navigator.clipboard`, `document.execCommand` and Electron's `clipboard`. Off by default.

**Why switch it on.** The clipboard belongs to the person at the machine: it may hold a password now, and what a
payload puts there is pasted later, perhaps into a terminal.

**Instead.** Return text, or take it as an argument.

**References.** W3C Clipboard API, privacy considerations; the "pastejacking" class.
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.rules import Action
from evalward.guard.target import Shape, Target

LABEL: Final = "clipboard"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Return the text instead of copying it.",
        "Pass text to paste as an argument, and fill the field.",
    ),
    targets=(Target.RENDERER, Target.MAIN),
    examples=(
        Twins("navigator.clipboard.readText()", "navigator.language"),
        Twins("navigator['clip' + 'board'].writeText('x')", "({ clipboard: 'x' })['clip' + 'board']"),
        Twins("document.execCommand('copy')", "document.hasFocus()"),
        Twins(
            "({ clipboard }) => clipboard.readText()",
            "({ app }) => app.getName()",
            Shape.FUNCTION,
            Target.MAIN,
        ),
    ),
    default=Action.ALLOW,
)
