"""The analysis exceeds a limit.

**What.** Depth of nesting, number of nodes, steps of the resolver, or the parser's own budget. All are counted and
none is a clock, so the verdict is the same on every machine.

**Why.** An unfinished analysis proves nothing, and an attacker can force a guard to give up if giving up means allow.
The code is EVAL_ANALYSIS_LIMIT; such a denial is never counted as a detection.

**Instead.** Pass data as an argument and not as source text; flatten generated code; split the work.

**References.** CWE-400; deep nesting and error recovery are known causes of denial of service in parsers.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "analysis-limit"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass data as an argument instead of writing it into the source.",
        "Split the work over several smaller calls.",
        "Flatten deep nesting; send readable code instead of generated or obfuscated code.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("(" * 3_000 + "1" + ")" * 3_000, "(" * 300 + "1" + ")" * 300),
        Twins("[" * 2_500 + "]" * 2_500, "[" + "1, " * 2_500 + "]"),
    ),
    switchable=False,
)
