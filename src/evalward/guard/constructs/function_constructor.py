"""Reach a function constructor in any other way.

**What.** `(() => {}).constructor`, `[].at.constructor`, the constructors of async functions and generators,
`Reflect.get(f, 'constructor')`, a property descriptor that holds it, and, where keys cannot be resolved, a chain of
reads such as `x[k][k](s)()` that may build a function and run it.

**Why.** All four function constructors compile text, and three of them have no global name that could be removed. A
key is dangerous because of what it reads, not because of its spelling.

**Instead.** Read data by unresolved keys (`grid[y][x]`, `counts[word]++`). Look functions up in a table of your own,
and do not call the result of calling one.

**References.** ECMA-262 §20.2, §27.3, §27.4, §27.7; realms-shim CVE-2021-23594; SandboxJS CVE-2026-23830, the
constructor of async functions; static-eval CVE-2021-23334.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "function-constructor"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Write the function out in the payload instead of building it from text.",
        "Read data by computed keys, and look functions up in a table of your own.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("(() => {}).constructor('return 1')()", "(() => {}).constructor.name"),
        Twins("(async () => {}).constructor('return 1')()", "(async () => 1)()"),
        Twins(
            "arg => (() => 1)[arg.k](arg.s)()", "arg => ({ a: s => () => s })[arg.k](arg.s)", Shape.FUNCTION
        ),
        Twins("Reflect.get([].at, 'constructor')('return 1')()", "Reflect.get({ a: 1 }, 'a')"),
    ),
)
