"""Text that the guard and the engine would read differently.

**What.** Places where the guard's syntax tree has no error and JavaScript engines still read something else: html
comments that a carriage return ends or does not end, a hash bang line, `yield`, `await` and `let` as names, a regular
expression or a division after a block or an arrow function, JSX, and text that is one program as a script and
another in parentheses.

**Why.** The parser is part of the attack surface. What it misses, no later stage can judge: each of these
hides a call in text that looks like a comment, a string or a regular expression.

**Instead.** Write the place unambiguously (parentheses, a semicolon, another name), or declare the shape.

**References.** ECMA-262 §12.10 (semicolon insertion), §B.1.1 (html-like comments). Found by comparing
tree-sitter-javascript with V8.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "parser-ambiguity"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Declare the shape in which the sink runs the payload.",
        "Put the expression in parentheses, or end the statement before it with a semicolon.",
        "Use other names than let, yield and await, and plain line ends.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("<!--\rprocess['ex' + 'it'](0)", "// note\nprocess['plat' + 'form']", Shape.SCRIPT),
        Twins("{}/process['ex' + 'it'](0)/g", "({ a: 4 }).a / 2"),
        Twins(
            "var await = 1, g = 1; await /process['ex' + 'it'](0)/g",
            "var wait = 4, g = 2; wait /2/g",
            Shape.SCRIPT,
        ),
        Twins("{a:1}/`/;process['ex' + 'it'](0)//`", "({ a: 1 }) / 2", Shape.SCRIPT),
    ),
    switchable=False,
)
