"""Build a function from text by calling `Function`.

**What.** A call of the global `Function`, by its name or an alias, or its use as a callback.

**Why.** It compiles its last argument in the global scope: it is `eval` under another name, which neither strict
mode nor a shadowed variable restricts.

**Instead.** Write the function out.

**References.** ECMA-262 §20.2.1.1; CWE-95; lodash CVE-2021-23337 and ejs CVE-2022-29078, where template options
reached it.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "Function()"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Write the function out in the payload instead of building it from text.",
        "Choose between functions with a table.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("const F = Function; F('return 1')()", "const f = x => x instanceof Function; f(1)"),
        Twins("['return 1'].map(Function)", "['return 1'].map(String)"),
    ),
)
