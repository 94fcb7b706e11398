"""A loop that never ends.

**What.** `while (true)`, `do … while (true)`, `for (;;)` and similar loops whose body has no exit: no `break`, no
`return` or `throw`, no jump to an outer loop, no `await` or `yield`. Off by default.

**Why switch it on.** It blocks the page or the main process forever, because a payload shares their thread. This
finds mistakes, not attacks, which can use `while (x)`; a time limit at the sink stops both.

**Instead.** Loop with a bound, or wait with a promise.

**References.** CWE-835.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.rules import Action

LABEL: Final = "unbounded-loop"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Give the loop a bound: for (let i = 0; i < 100; i++).",
        "Wait with the driver's own wait, or await a timer.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("while (true) { step() }", "while (true) { if (step()) break }"),
        Twins("for (;;) [1].map(x => { return x })", "for (;;) { const x = step(); if (x) { throw x } }"),
        Twins(
            "do { switch (x) { case 1: break } } while (1)",
            "out: do { switch (x) { case 1: break out } } while (1)",
        ),
        Twins(
            "async () => { for (;;) { (async () => { await 1 })() } }",
            "async () => { for (;;) { await step() } }",
        ),
    ),
    default=Action.ALLOW,
)
