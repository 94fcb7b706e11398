r"""A regular expression that can take exponential time.

**What.** A literal, or the constant text of a `RegExp`, in which one text can be matched by a repetition in more than
one way, and something after it can fail: `(a+)+$`, `(\w|\d)*!`, `(a?b?)*c`. Off by default.

**Why switch it on.** Thirty characters can take minutes on the thread of the page or the main process. No timer
fires meanwhile.

**Instead.** Make the parts of the repetition exclude each other, or split the text and test the parts.

**References.** CWE-1333; OWASP, regular expression denial of service; minimatch CVE-2016-10540, ansi-regex
CVE-2021-3807; the outages of Stack Overflow (20 July 2016) and Cloudflare (2 July 2019), both polynomial: this
construct finds only the exponential ones.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.rules import Action

LABEL: Final = "catastrophic-regex"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Repeat one thing that cannot match in two ways: \\w+(?:,\\w+)* instead of (\\w+,?)*.",
        "Split the text first, and test each part with a simple expression.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("/^(a+)+$/.test(text)", "/^a+$/.test(text)"),
        Twins("text.match(/(\\w|\\d)*!/)", "text.match(/(\\w|-)*!/)"),
        Twins("new RegExp('^(\\\\s*,?\\\\s*)*x').test(text)", "new RegExp('^(\\\\w+,)*x').test(text)"),
        Twins("/^([\\w.]+)*@/i.exec(text)", "/^\\w+(\\.\\w+)*@/i.exec(text)"),
    ),
    default=Action.ALLOW,
)
