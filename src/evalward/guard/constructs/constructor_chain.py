"""Reach `Function` by reading `constructor` twice.

**What.** Two reads whose keys both resolve to `constructor`, on any receiver: `({}).constructor.constructor`,
`''['const' + 'ructor'][k]`. A single `constructor.name` is ordinary.

**Why.** Every value has a constructor and every constructor's constructor is `Function`, so this works from a string,
a number or an argument. Removing names from the scope does not prevent it. It is the most common escape.

**Instead.** Compare with `instanceof`, or read `x.constructor.name`; build a new object of the same class in a method
of that class, or name the class.

**References.** The AngularJS expression sandbox (removed in 1.6); n8n CVE-2025-68613, whose first fix was bypassed by
a template literal as the key; mathjs CVE-2017-1001002; notevil CVE-2021-23771; jsonpath-plus CVE-2024-21534 and
CVE-2025-1302.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = ".constructor.constructor"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Compare with instanceof, or read x.constructor.name.",
        "Name the class that you need: new Map(), Array.from(list).",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("({}).constructor.constructor('return 1')()", "({}).constructor.name"),
        Twins("const k = `con${'structor'}`; ''[k][k]('return 1')()", "const k = `len${'gth'}`; ''[k]"),
        Twins("[]['constructor']['constructor']`return 1`()", "[]['constructor']['name']"),
    ),
    wakes="constructor",
)
