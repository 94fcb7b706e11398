"""Read the location of a module.

**What.** `import.meta` and anything read from it.

**Why.** `import.meta.url` and `dirname` reveal paths of the machine, `import.meta.resolve` probes what is installed,
and bundlers add their own functions to it.

**Instead.** Pass the path as an argument.

**References.** ECMA-262 §13.3.12; Node.js, ES modules, `import.meta`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "import.meta"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass the path or URL that the payload needs as an argument.",
        "In a page, read `location.href`.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("import.meta.url", "({ meta: { url: 'x' } }).meta.url", Shape.MODULE),
        Twins(
            "const { dirname } = import.meta; dirname",
            "const { dirname } = { dirname: '/' }; dirname",
            Shape.MODULE,
        ),
    ),
    wakes="import",
)
