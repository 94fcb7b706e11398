"""The `process` object itself leaves the payload.

**What.** The whole object is stored where it outlives the payload, passed to code outside the payload, thrown, or
returned to a caller that keeps it. Its members have their own labels.

**Why.** The receiver can do later what the payload may not do now, and two payloads together must not do what one
may not.

**Instead.** Pass the one value that is needed.

**References.** Node.js, `process`; CWE-668 (exposure of a resource to the wrong sphere).
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "process"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Hand over the one value that is needed, such as process.platform.",
        "Keep the object in the payload: use it only for allowed reads and `typeof`.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("globalThis.kept = process", "globalThis.kept = process.platform"),
        Twins("throw process", "throw new Error(process.version)"),
        Twins("globalThis.kept = [process]", "globalThis.kept = [process.arch]"),
    ),
)
