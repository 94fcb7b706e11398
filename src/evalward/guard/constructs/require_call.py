"""Load a CommonJS module.

**What.** A call of `require`, under any name: an alias, `globalThis['req' + 'uire']`, `this.require`. Reading it for
`typeof` does not count.

**Why.** One call gives `fs`, `child_process`, `net` or any package on disk, that is, everything that the user may do.
It is the shortest way from an evaluated string to a shell.

**Instead.** Pass what the payload needs as an argument. The driver has its own imports.

**References.** CWE-829 (functionality from an untrusted sphere); node-serialize CVE-2017-5941 and serialize-to-js
CVE-2017-5954, both published with a payload that requires `child_process`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "require()"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass the data that the payload needs as an argument.",
        "Do file, network and process work in the driver, with its own imports.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("const load = require; load('fs')", "typeof require === 'undefined'"),
        Twins(
            "globalThis['req' + 'uire']('os')", "const own = { require: n => n }; own['req' + 'uire']('os')"
        ),
    ),
)
