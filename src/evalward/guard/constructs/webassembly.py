"""Compile WebAssembly.

**What.** Any use of the global `WebAssembly`.

**Why.** The bytes are a second program, which is not judged. It can call every function that it receives, and use up
the processor without a loop in the JavaScript.

**Instead.** Compute in JavaScript, or call a function of the page that already has its module loaded.

**References.** WebAssembly JavaScript Interface; the `wasm-unsafe-eval` source of Content Security Policy.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "WebAssembly"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Compute it in JavaScript.", "Call a function that the page exposes."),
    targets=EVERYWHERE,
    examples=(
        Twins(
            "WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109]))",
            "new Uint8Array([0, 97, 115, 109]).length",
        ),
        Twins(
            "const { Module: M } = WebAssembly; new M(new Uint8Array(8))",
            "const { Module: M } = { Module: Map }; new M()",
        ),
        Twins("globalThis['Web' + 'Assembly'].validate(b)", "typeof globalThis['Web' + 'Assembly']"),
    ),
)
