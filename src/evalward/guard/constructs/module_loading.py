"""Another way to the module loader.

**What.** `module.require`, `module.constructor._load`, `require.cache`, `require.resolve`, `require.main`,
`createRequire`, the `module` object itself where it leaves the payload, and modules such as `fs` by their bare
names, which Node's command line defines and a sink may have in scope.

**Why.** Each of them loads code, or replaces code that is already loaded: an entry of `require.cache` is the module
that every other part of the application uses.

**Instead.** As for `require()`: pass arguments, return a value.

**References.** Node.js, modules API, `module.createRequire` and `require.cache`; CWE-829.
"""

from typing import Final

from evalward.guard.constructs.construct import HOSTS, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "module-loading"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass the data that the payload needs as an argument.",
        "Load modules in the driver, not in a payload.",
    ),
    targets=HOSTS,
    examples=(
        Twins(
            "module['req' + 'uire']('fs')",
            "const module = { require: n => n }; module['req' + 'uire']('fs')",
            Shape.ASYNC_BODY,
        ),
        Twins("module.constructor._load('fs')", "typeof module"),
        Twins(
            "for (const k in require.cache) delete require.cache[k]",
            "const cache = { a: 1 }; for (const k in cache) delete cache[k]",
        ),
    ),
)
