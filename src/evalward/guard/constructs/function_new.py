"""Build a function from text with `new Function`.

**What.** `new` applied to the global `Function`, by its name or an alias, or through `Reflect.construct`.

**Why.** As for `Function()`: the text is compiled in the global scope.

**Instead.** Write the function out.

**References.** ECMA-262 §20.2.1.1; CWE-95; doT CVE-2020-8141 and pug CVE-2021-21353, template engines that
allowed injection into their generated source.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "new Function()"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Write the function out in the payload instead of building it from text.",
        "Choose between functions with a table.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins(
            "const F = Function; new F('return 1')",
            "class F { constructor(text) { this.text = text } } new F('return 1')",
        ),
        Twins("new globalThis['Func' + 'tion']('a', 'return a')(1)", "new globalThis['Dat' + 'e'](2024, 1)"),
    ),
)
