"""Pass text to a timer.

**What.** `setTimeout`, `setInterval` or `setImmediate` with a first argument that is text, or that may be text from
an argument, JSON or the page. A function, or a parameter that holds one, is ordinary. Where the argument is not known
(part of an error's message, a result of `Intl`), it is taken for text if the payload has a text that could run.

**Why.** A browser compiles the text, later, in the global scope: `eval` with a delay.

**Instead.** Pass a function.

**References.** HTML Standard §8.7 (timers); CWE-95; the `unsafe-eval` and Trusted Types rules of browsers cover it.
"""

from typing import Final

from evalward.guard.constructs.construct import HOSTS, PAGES, Construct, Twins

LABEL: Final = "string-timer"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass a function: setTimeout(() => step(), 100).",
        "Wait with a promise, or with the driver's own wait.",
    ),
    targets=(*PAGES, *HOSTS),
    examples=(
        Twins("setTimeout('step()', 100)", "setTimeout(() => 'step()', 100)"),
        Twins(
            "const run = setInterval; run(['a', '()'].join(''))",
            "const run = setInterval; run(() => ['a', '()'].join(''))",
        ),
        Twins("setTimeout(document.title, 10)", "setTimeout(() => document.title, 10)"),
    ),
    wakes="setImmediate",
)
