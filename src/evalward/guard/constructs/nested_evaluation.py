"""Pass text to another evaluator.

**What.** `webContents.executeJavaScript`, `page.evaluate` and `addInitScript` with text instead of a function,
`addScriptTag`, `setContent`, CDP sessions, a driver's private members, which lead to its connection, `ShadowRealm`,
`vm.*`, Node's inspector and REPL. Of Selenium also `By.js`, `{ js: … }`, `script()`, `pinScript`, BiDi and the
executor; of Puppeteer extensions and query handlers; of any driver a method that no list names, given text or a
function.

**Why.** The text runs in another realm under another policy, and it was not judged. A guard in front of one sink is
useless if a payload may reach the next sink.

**Instead.** Pass a function, which is part of the payload and is judged with it, or send the inner text to Evalward
as a separate payload, for its own target.

**References.** CWE-95; Electron, `webContents.executeJavaScript`; Playwright, `page.addInitScript`; Node.js, `vm`
("not a security mechanism").
"""

from typing import Final

from evalward.guard.constructs.construct import HOSTS, Construct, Twins
from evalward.guard.target import Target

LABEL: Final = "nested-evaluation"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Pass a function instead of text: page.evaluate(() => document.title).",
        "Send the inner code as a payload of its own, for the target that runs it.",
    ),
    targets=HOSTS,
    examples=(
        Twins("page.evaluate('document.title')", "page.evaluate(() => document.title)", target=Target.NODE),
        Twins("page.addInitScript('1')", "page.addInitScript(() => 1)", target=Target.NODE),
        Twins(
            "BrowserWindow.getAllWindows()[0].webContents.executeJavaScript('1')",
            "BrowserWindow.getAllWindows()[0].webContents.getTitle()",
            target=Target.MAIN,
        ),
    ),
    wakes="addStyleTag exposeBinding exposeFunction ffmpegPath",
)
