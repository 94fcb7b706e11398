"""Import or export with a declaration.

**What.** `import … from`, `import '…'`, `export … from`, and `export` of the payload's own values. They exist only in
the shape `module`.

**Why.** An imported module is loaded and run before the payload's first line; see `import()`. An export passes the
payload's values to its importers, after the verdict.

**Instead.** Pass values in, and return a value.

**References.** ECMA-262 §16.2.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "static-import"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass the data that the payload needs as an argument.",
        "Write the function out in the payload instead of importing it.",
        "Return a value instead of exporting it.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("import fs from 'fs'; fs", "const answer = 42; answer", Shape.MODULE),
        Twins("export * from 'os'", "const a = { from: 'os' }; a", Shape.MODULE),
    ),
    wakes="import",
)
