"""Send a signal to a process.

**What.** A call of `process.kill`, in any way.

**Why.** It signals any process of the same user: the application itself, its helpers, the editor next to it. Signal
0 only tests whether a process exists, which still probes the machine.

**Instead.** Stop a process that the test started from the code that holds its handle.

**References.** Node.js, `process.kill`; POSIX `kill`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "process.kill"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Stop a child process from the code that started it.",
        "Read `process.pid` where only the number is needed; it is an allowed read.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("process.kill(process.pid)", "process.pid"),
        Twins(
            "const p = process; p[['ki', 'll'].join('')](1)",
            "const p = { kill: n => n + 1 }; p[['ki', 'll'].join('')](1)",
        ),
    ),
)
