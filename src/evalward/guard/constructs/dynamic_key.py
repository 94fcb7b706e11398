"""Use an unresolved key on a capability or a sink.

**What.** `process[k]`, `globalThis[k]`, `app[k]` where the value of `k` cannot be determined; and a write through an
unresolved key to an object that has script sinks, such as `el[arg.p] = arg.html`. On plain data, on arrays and on a
table of your own functions unresolved keys are ordinary; `strict` demands proof that the receiver is plain. In
`balanced` an unresolved key on an object that the host gives (`page[action](selector)`) passes as well, and so does a
function `(x, k) => x[k]` that is handed to other code: ordinary callbacks look the same.

**Why.** The key may name any member, including the most dangerous one.

**Instead.** Name the member, check the key against a list, or look it up in an object or `Map` of your own.

**References.** CWE-470 (externally controlled selection of code); eslint-plugin-security,
`detect-object-injection`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape, Target

LABEL: Final = "dynamic-key"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Name the member, or compare the key with the names that you expect.",
        "Look the key up in an object or Map of your own.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("k => process[k]", "k => ({ a: 1, b: 2 })[k]", Shape.FUNCTION),
        Twins("k => globalThis[k](1)", "k => ({ a: n => n + 1 })[k](1)", Shape.FUNCTION),
        Twins(
            "arg => { document.body[arg.p] = arg.html }",
            "arg => { document.body.style[arg.p] = arg.value }",
            Shape.FUNCTION,
            Target.RENDERER,
        ),
    ),
)
