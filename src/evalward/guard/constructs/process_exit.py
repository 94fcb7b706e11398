"""End the host process.

**What.** A call of `process.exit`, however the object and the key are spelled, carried or read: through
`globalThis`, an alias, destructuring, a computed key, a `with` block, `Reflect.get`.

**Why.** The payload runs inside the application that it is meant to inspect. Ending that process loses the user's
unsaved work, the agent's session and the driver's unwritten data, and it skips the cleanup that closing the window
runs. To the user it looks like a crash.

**Instead.** Return from the payload. Closing the application is the operator's or the driver's decision: in
Playwright, `electronApp.close()` from driver code.

**References.** Node.js, `process.exit`; CWE-705 (incorrect control flow scoping). The blocklists of
Electron drivers begin with it.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "process.exit"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Return a value instead of ending the process.",
        "Close the application from the driver that started it, not from a payload.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins(
            "process['ex' + 'it'](0)", "class Door { exit() { return 'closed' } } new Door()['ex' + 'it'](0)"
        ),
        Twins("const { exit } = process; exit(1)", "const { platform } = process; platform.length"),
        Twins("globalThis.process?.['exit'](0)", "typeof globalThis.process?.['exit']"),
    ),
)
