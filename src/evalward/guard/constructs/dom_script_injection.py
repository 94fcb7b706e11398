"""Turn text into script through the page.

**What.** Markup that carries script into `innerHTML`, `outerHTML`, `insertAdjacentHTML` or a parser;
`document.write`; `srcdoc`; script elements; `on*` attributes; `javascript:` URLs; `createContextualFragment`;
`contentWindow` of frames; a frame's `contentDocument` may be read, and is judged as the page's own document. Markup
that is constant and inert passes; markup that cannot be resolved is blocked in `strict`. An element that is found by
its id, an attribute or its place may be a script that has not run: text that is a program, and the URL of a `.js`
file, are blocked there. A selector that ends in another tag (`pre`, `#log > code`) says that it is none.

**Why.** The page compiles the text with the rights of its origin: cross-site scripting, carried out by the agent. A
frame's window is another realm, whose constructors the guard does not know.

**Instead.** `textContent`, `append`, `createElement` with named properties, `addEventListener` with a function; in
a driver, `fill` and `click`.

**References.** CWE-79; HTML Standard §8.4 and §13.4; Trusted Types; OWASP, DOM based XSS prevention.
"""

from typing import Final

from evalward.guard.constructs.construct import PAGES, Construct, Twins

LABEL: Final = "dom-script-injection"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Set textContent, or append elements made with document.createElement.",
        "Add a listener that is a function: el.addEventListener('click', () => step()).",
        "Use the driver's fill and click instead of writing markup.",
    ),
    targets=PAGES,
    examples=(
        Twins(
            "document.body.innerHTML = '<img src=x onerror=step()>'",
            "document.body.innerHTML = '<p class=note>ready</p>'",
        ),
        Twins("document.write('<img src=x onerror=step()>')", "document.body.append('ready')"),
        Twins(
            "const s = document.createElement('scr' + 'ipt'); s.text = '1'; document.head.append(s)",
            "const p = document.createElement('p'); p.textContent = '1'; document.body.append(p)",
        ),
        Twins(
            "document.querySelector('a').href = 'javascript:step()'",
            "document.querySelector('a').href = '/javascript'",
        ),
        Twins(
            "document.body.setAttribute('onclick', 'step()')", "document.body.setAttribute('title', 'step()')"
        ),
        Twins("document.querySelector('iframe').contentWindow", "document.querySelector('iframe').src"),
    ),
    wakes=(
        "createPolicy "
        "Attr DOMParser attributes createAttribute createAttributeNS createObjectURL currentScript "
        "getAttributeNode getAttributeNodeNS getNamedItem scripts setAttributeNode setAttributeNodeNS"
    ),
)
