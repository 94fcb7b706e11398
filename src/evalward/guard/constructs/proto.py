"""Read or write an object's prototype as `__proto__`.

**What.** A read or write of the accessor that every object inherits, by any spelling of the key. `{__proto__: null}`
in a literal with a plain key is caught by the keyword list; as a computed key it is an ordinary property.

**Why.** From any object it leads to `Object.prototype`, and a write there changes every object of the realm: the
host's own code then behaves differently.

**Instead.** `Object.getPrototypeOf` to read it, `Object.create(null)` or a `Map` for a dictionary.

**References.** ECMA-262 §B.2.2.1; CWE-1321; lodash CVE-2019-10744, jQuery CVE-2019-11358, minimist CVE-2021-44906,
json5 CVE-2022-46175, hoek CVE-2018-3728.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "__proto__"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Use Object.getPrototypeOf to look at a prototype.",
        "Use a Map or Object.create(null) as a dictionary.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("({})['__pro' + 'to__'].polluted = 1", "({})['__own' + '__'] = 1"),
        Twins(
            "const o = {}; o[['__', 'proto', '__'].join('')] = { a: 1 }",
            "const o = Object.create(null); o[['a', 'b'].join('')] = { a: 1 }",
        ),
    ),
    wakes="__proto__",
)
