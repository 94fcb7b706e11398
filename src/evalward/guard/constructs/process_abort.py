"""Abort the host process with a core dump.

**What.** A call of `process.abort`, in any way.

**Why.** It ends the process at once, runs no handler, and may leave a core file that holds the memory of the
application: tokens, cookies, the text of documents.

**Instead.** Throw an error: the sink reports it, and the process continues.

**References.** Node.js, `process.abort`; CWE-528 (core dump exposed).
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "process.abort"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Throw an error to report that something is wrong.", "Return a value that reports it."),
    targets=EVERYWHERE,
    examples=(
        Twins(
            "process['abo' + 'rt']()", "const controller = new AbortController(); controller['abo' + 'rt']()"
        ),
        Twins(
            "const { abort: stop } = process; stop()", "const { abort: stop } = { abort: () => 1 }; stop()"
        ),
    ),
)
