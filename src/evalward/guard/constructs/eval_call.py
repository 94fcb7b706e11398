"""Evaluate text as code.

**What.** Every use of the global `eval`: called by its name, indirectly as `(0, eval)(text)`, through an alias or
`globalThis`, or passed as a callback.

**Why.** The text that runs is not the text that was judged. Nothing that a guard proves about a payload holds beyond
the first `eval`.

**Instead.** Write the code out, so that it can be judged. For data use `JSON.parse`; for a choice of functions, a
table of functions.

**References.** CWE-95; expr-eval CVE-2025-12735, safe-eval CVE-2017-16088 and CVE-2022-25904, static-eval
CVE-2017-16226: expression evaluators that turned out to be `eval`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "eval()"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Write the code out in the payload instead of evaluating text.",
        "Parse data with JSON.parse.",
        "Choose between functions with a table: ({ add, sub })[name](a, b).",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("(0, eval)('1 + 1')", "JSON.parse('[1, 1]')"),
        Twins("['1 + 1'].map(eval)", "['1', '1'].map(Number)"),
        Twins(
            "const run = globalThis['ev' + 'al']; run('2')",
            "const own = { eval: n => n }; const run = own['ev' + 'al']; run('2')",
        ),
    ),
)
