"""Run code in the scope of an object.

**What.** A `with` statement whose object is a capability or cannot be resolved, or whose body reaches a capability
through a bare name.

**Why.** Inside it a bare name may be a property: `with (process) exit(0)` holds neither `process.exit` nor any
member access. It defeats every check for names or dots.

**Instead.** Name the object, or destructure what you need.

**References.** ECMA-262 §14.11, which strict mode forbids; n8n CVE-2026-1470, an escape through `with` and a bare
`constructor`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.target import Shape

LABEL: Final = "with"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Name the object: Math.max(a, b).", "Destructure what you need: const { max, min } = Math."),
    targets=EVERYWHERE,
    examples=(
        Twins("with (JSON.parse(source)) run(1)", "const { run } = { run: n => n }; run(1)", Shape.SCRIPT),
        Twins("with (window.api) send(1)", "const { send } = window.api; send(1)", Shape.SCRIPT),
    ),
)
