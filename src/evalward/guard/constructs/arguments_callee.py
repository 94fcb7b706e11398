"""Reach the caller of a function.

**What.** `arguments.callee`, and `caller` and `arguments` of a function.

**Why.** Through one sloppy frame, `caller` returns the function that called the payload, and its arguments: host code
that is otherwise out of reach.

**Instead.** Give the function a name and use it.

**References.** ECMA-262 §10.4.4 and §20.2.4, which strict mode forbids.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "arguments.callee"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Give the function a name and call it by that name.",
        "Pass what the caller knows as an argument.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins(
            "(function () { return arguments.callee })()",
            "(function again(n) { return n ? again(n - 1) : 0 })(3)",
        ),
        Twins("(function f() { return f.caller })()", "(function f() { return f.name })()"),
        Twins(
            "(function () { return arguments['cal' + 'lee'] })()",
            "(function () { return arguments['len' + 'gth'] })()",
        ),
    ),
    wakes="callee",
)
