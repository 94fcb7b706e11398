"""Inspect the frames of the callers.

**What.** `Error.prepareStackTrace`, read from or written to any error constructor, and the call site objects that it
receives.

**Why.** V8 calls it with one object per frame, and `getThis` and `getFunction` of a sloppy frame return the host's
own objects and functions, outside every scope that a sandbox prepares.

**Instead.** Read `error.stack`, which is text.

**References.** V8, stack trace API; vm2 CVE-2022-36067 ("SandBreak") and CVE-2023-29017.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "call-sites"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Read error.stack, which is text.", "Return error.message and error.name."),
    targets=EVERYWHERE,
    examples=(
        Twins("Error.prepareStackTrace = (e, frames) => frames; new Error().stack", "new Error('x').stack"),
        Twins(
            "Error['prepare' + 'StackTrace'] = f; function f(e, s) { return s }",
            "({})['prepare' + 'StackTrace'] = f; function f(e, s) { return s }",
        ),
    ),
    wakes="captureStackTrace",
)
