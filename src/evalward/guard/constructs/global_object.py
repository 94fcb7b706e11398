"""The global object itself leaves the payload.

**What.** The object behind `globalThis`, `window`, `self`, `global`, `frames[0]`, sloppy `this` or
`document.defaultView` is returned, thrown, stored in a host object or passed to code outside the payload.
Reads and writes of named properties of your own are ordinary.

**Why.** It holds every other capability. The receiver needs no further escape.

**Instead.** Pass the one value that is needed.

**References.** CWE-668; vm2 and the `vm` module of Node, whose documentation says that it is no security mechanism:
one leaked host object is enough.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "global-object"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Hand over the one value that is needed.",
        "Read or write a single property: globalThis.myFlag.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("throw globalThis", "throw new Error(typeof globalThis)"),
        Twins(
            "globalThis.kept = [(function () { return this })()]",
            "globalThis.kept = [(function () { 'use strict'; return this })()]",
            Shape.SCRIPT,
        ),
    ),
)
