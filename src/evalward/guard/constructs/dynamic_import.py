"""Load a module with a call of `import()`.

**What.** Every dynamic import, whatever its specifier: a constant, a `data:` URL, an unresolved value.

**Why.** In Node `import('node:child_process')` needs no `require` and cannot be shadowed; in a page
`import('data:text/javascript,…')` and `import('https://…')` run text as code. It is syntax, so a sandbox that
removes names does not stop it.

**Instead.** Pass values in. A page's own modules are loaded by the page.

**References.** ECMA-262 §13.3.10; vm2 and other `vm` based sandboxes have to reject it through
`importModuleDynamically`.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

LABEL: Final = "import()"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass the data that the payload needs as an argument.",
        "Call a function that the page already exposes.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("import('node:fs').then(fs => fs)", "Promise.resolve({ a: 1 }).then(m => m.a)"),
        Twins("const load = name => import(name); load('os')", "const load = name => ({ name }); load('os')"),
    ),
    wakes="import",
)
