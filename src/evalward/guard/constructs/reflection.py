"""Pass on the means of reflection.

**What.** `Reflect` and the reflective methods of `Object` where they leave the payload as values that can be used on
anything. Where they return a member of a capability, the label is that of the member.

**Why.** With a descriptor every capability is data: it can be put into an array and read by a number, so that no key
remains to check.

**Instead.** Use these methods on your own objects; there they are ordinary.

**References.** ECMA-262 §28.1; the host-object classes of SandboxJS.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "reflection"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Use Object.keys, Object.entries and Reflect on your own objects only.",
        "Name the member that you need.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("globalThis.kept = Reflect", "globalThis.kept = Reflect.ownKeys({ a: 1 })"),
        Twins(
            "window.api.send(Object.getOwnPropertyDescriptor)",
            "window.api.send(Object.getOwnPropertyDescriptor({ a: 1 }, 'a').value)",
        ),
    ),
    wakes="Proxy Reflect",
)
