"""Close or swallow the wrapper that the sink puts around the payload.

**What.** Text that is no program in its shape, but parses between the sink's opening and closing text: it closes the
function and opens another, or turns the end into a comment.

**Why.** The part behind the closing bracket runs outside the function: with another `this`, without the bound
argument, before or after the harness that should contain it. SQL injection works in the same way.

**Instead.** Send one whole expression, function or body.

**References.** CWE-94, CWE-74; lodash CVE-2021-23337 and ejs CVE-2022-29078, where an option closed the generated
function's text.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "wrapper-breakout"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Send one whole expression, function or body, with balanced brackets.",
        "Declare the shape in which the sink runs the payload.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("1), (process['ex' + 'it'](0)", "(1), (2)", Shape.EXPRESSION),
        Twins(
            "return 1 })(), (async function () { process['ex' + 'it'](0)",
            "return (async function () { return 2 })()",
            Shape.ASYNC_BODY,
        ),
    ),
    switchable=False,
)
