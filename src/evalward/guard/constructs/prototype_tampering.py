"""Change what every object inherits.

**What.** Writes to built-in prototypes by any means (`defineProperty`, an array's methods, `Object.freeze`),
`Object.setPrototypeOf`, `__defineGetter__` and similar methods; in `strict`, and in `balanced` when the key comes
from an argument, JSON or the page, also a write through what an unresolved key has selected (`o[a][b] = v`). A
standard function that is replaced on its object (`Math.random = …`) is not denied: the guard follows the replacement.

**Why.** The change outlives the payload and reaches the host's own code. A patched `trimEnd` or `then` is called by
code with more rights than the payload, with arguments that the payload must not see.

**Instead.** Write a function of your own. Before a write by a key from outside, check it with `Object.hasOwn`, or
write into a `Map`.

**References.** CWE-1321; lodash CVE-2019-10744, set-value CVE-2019-10747, dot-prop CVE-2020-8116, y18n CVE-2020-7774,
flat CVE-2020-36632, SandboxJS CVE-2025-34146.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "prototype-tampering"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Write a function of your own instead of changing a built-in.",
        "Check a key from outside with Object.hasOwn before writing, or use a Map.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("Array.prototype.at = () => 1", "const list = { at: () => 1 }; list.at = () => 2"),
        Twins("Object.setPrototypeOf(Map.prototype, null)", "Object.getPrototypeOf(Map.prototype)"),
        Twins(
            "Object.defineProperty(Object.prototype, 'a', { value: 1 })",
            "Object.defineProperty({}, 'a', { value: 1 })",
        ),
        Twins("({}).constructor.prototype.polluted = 1", "({}).constructor.prototype.polluted"),
    ),
    wakes=(
        "prototype getPrototypeOf setPrototypeOf getOwnPropertyDescriptor getOwnPropertyDescriptors "
        "defineProperty defineProperties"
    ),
)
