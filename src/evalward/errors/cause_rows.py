"""The causes as data: construct, expression for a note of the trace, whether it is repairable, next actions.

The first row of a construct whose expression matches a whole note decides. A row names the whole family that is
denied, so that a caller does not try its next member, and never asks for what only an operator can change.
"""

from typing import Final

ELSEWHERE: Final = frozenset(
    {
        *("process.exit", "process.kill", "process.abort", "require()", "module-loading", "import()"),
        *(
            "electron-lifecycle",
            "electron-shell",
            "electron",
            "network",
            "storage",
            "navigation",
            "clipboard",
        ),
    }
)
"""Constructs without a rewrite, whose work the driver or the application can do."""
NO: Final = frozenset({"worker", "WebAssembly"})

ENVIRONMENT: Final = "<environment>"
"""Stands for the names of environment variables that may be read: the policy's are added."""
ENVIRONMENT_NAMES: Final = ("NODE_ENV", "PATH", "HOME", "LANG", "TZ", "USER", "PWD")
_LOADS = "script elements, import(), addScriptTag and text in addInitScript are all denied."

CAUSES: Final[tuple[tuple[str, ...], ...]] = (
    (
        "nested-evaluation",
        "text is evaluated in a page",
        "yes",
        "Pass a function instead of text: page.evaluate(() => document.title).",
        "Hand values over as arguments: page.evaluate(text => document.title === text, 'Home').",
    ),
    (
        "nested-evaluation",
        "the page's content holds script",
        "yes",
        (
            "Write the markup without handlers, script elements and javascript: URLs, then add listeners with"
            " page.evaluate(() => document.querySelector('div').addEventListener('click', () => step()))."
        ),
    ),
    (
        "nested-evaluation",
        r"`\S+\.(?:addInitScript|evaluateOnNewDocument)` is called",
        "yes",
        "Pass a function instead of text or a file: page.addInitScript(value => { window.mock = value }, { a: 1 }).",
    ),
    (
        "nested-evaluation",
        r"`\S+\.addScriptTag` is called",
        "elsewhere",
        "No payload loads code: " + _LOADS,
        "Write out what the script would do as a function for page.evaluate or page.addInitScript.",
        "Otherwise the test's own set-up code loads it, not a payload.",
    ),
    (
        "nested-evaluation",
        r"`\S+\.newCDPSession` is called",
        "yes",
        (
            "Every CDP session is denied; use the page's own interface: page.evaluate(() =>"
            " document.getAnimations().map(a => a.playbackRate))."
        ),
    ),
    (
        "nested-evaluation",
        r"`\S+\.executeJavaScript\w*` is called",
        "yes",
        "Send the inner code as a payload of its own, for the target renderer.",
    ),
    (
        "string-timer",
        "a value that may be text is handed to a timer",
        "yes",
        "Wrap the callback: setTimeout(() => done(), 100).",
    ),
    (
        "string-timer",
        "text is handed to a timer",
        "yes",
        "Write the text as a function: setTimeout(() => step(), 100).",
    ),
    (
        "dom-script-injection",
        "a script element is made",
        "elsewhere",
        "No payload loads code: " + _LOADS,
        "Write out what the library would do, or have the application or the test's set-up load it.",
    ),
    (
        "dom-script-injection",
        "text is written into the document",
        "yes",
        (
            "Set document.documentElement.innerHTML, or append elements made with document.createElement;"
            " document.write and writeln are denied."
        ),
    ),
    (
        "dom-script-injection",
        "an event handler is set from text",
        "yes",
        "Add a listener that is a function: el.addEventListener('click', () => step()).",
    ),
    (
        "dom-script-injection",
        "the markup holds script",
        "yes",
        (
            "Write the markup without handlers, script elements, srcdoc and javascript: URLs, then add listeners:"
            " el.addEventListener('click', () => step())."
        ),
    ),
    (
        "dom-script-injection",
        r"`Element\.contentWindow` leaves the payload",
        "yes",
        "Read the frame's document with contentDocument: frame.contentDocument.body.",
    ),
    (
        "module-loading",
        r"`modules\.fs\b\S*` is called",
        "yes",
        "Read the file in the driver, and take its content as an argument of the payload.",
    ),
    (
        "process.launch",
        r"`playwright\.\S+` is called",
        "yes",
        "Use the browser, context or page that the caller passes in: await browser.newContext().",
    ),
    (
        "process.env",
        r"`process\.env` (?:leaves the payload|is enumerated)",
        "yes",
        "Read one variable by name: " + ENVIRONMENT + ".",
    ),
    (
        "process.env",
        r"`\w+` is read from `process\.env`",
        "elsewhere",
        "Of the environment, only these may be read: " + ENVIRONMENT + ".",
        "Take any other value as an argument of the payload.",
    ),
    (
        "electron-lifecycle",
        r"`electron\.app\.\w+` is called",
        "elsewhere",
        "No payload ends or restarts the application: quit, exit and relaunch are denied.",
        "Close it from the driver: electronApp.close().",
    ),
    (
        "electron-shell",
        r"`electron\.shell\S*` is written",
        "elsewhere",
        "No payload stubs or opens: members of shell can be neither replaced nor called.",
        "Read the address where the page has it: document.querySelector('a').href.",
        "Stub shell in the application's own test set-up.",
    ),
    (
        "electron",
        r"`electron\.\w+` is constructed",
        "no",
        (
            "A payload makes no windows and views; read those that exist:"
            " BrowserWindow.getAllWindows()[0].getBounds()."
        ),
    ),
    (
        "electron",
        r"`electron\.events\.\w+` is called",
        "elsewhere",
        "A payload sends no events to the application; click its menu item or button from the driver.",
    ),
    (
        "prototype-tampering",
        r"`\S+` is written",
        "yes",
        "Define the property on the one object: Object.defineProperty(navigator, 'name', { value: 1 }).",
        "Write a function of your own instead of changing a built-in.",
    ),
    (
        "__proto__",
        "`__proto__` is written",
        "yes",
        "Make an object without a prototype: Object.create(null), or use a Map.",
    ),
    ("__proto__", "`__proto__` is read", "yes", "Read a prototype with Object.getPrototypeOf(x)."),
    (
        "global-object",
        "`globalThis` leaves the payload",
        "yes",
        "Return the values that are needed: ({ url: location.href, title: document.title }).",
        "No handle of window or globalThis leaves a payload.",
    ),
    (
        "dynamic-key",
        "`globalThis` is read by a key that cannot be resolved",
        "yes",
        (
            "List the names and check the key before the read:"
            " if (!['state', 'version'].includes(key)) throw new Error('name'); return window[key]."
        ),
    ),
    (
        "dynamic-key",
        r"`\S+` is read by a key that cannot be resolved",
        "yes",
        "Choose from a table of functions: ({ copy: () => wc.copy(), paste: () => wc.paste() })[key]().",
    ),
    (
        "import()",
        "a module is imported",
        "elsewhere",
        "No payload loads code: " + _LOADS,
        "Call a function that the page already exposes, or take the data as an argument.",
    ),
    (
        "require()",
        "`require` is called",
        "elsewhere",
        "Take the data as an argument; in Electron, app.getVersion() and app.getName() tell about the application.",
        "import(), createRequire and process.mainModule are denied, too.",
    ),
    (
        "new Function()",
        "`Function` is constructed",
        "yes",
        (
            "Write the function out. Run a handler of the page with el.click(); fill a template with"
            " text.replace(/\\$\\{(\\w+)\\}/g, (all, key) => String(data[key]))."
        ),
        "eval, Function and setTimeout with text are denied, too.",
    ),
    (
        "eval()",
        "`eval` is called",
        "yes",
        "Write the evaluated code out as code, or parse data with JSON.parse.",
        "Function, new Function and setTimeout with text are denied, too.",
    ),
)

KEYWORDS: Final = {
    "require(": "require()",
    "Function(": "Function()|new Function()",
    "eval(": "eval()",
    "__proto__": "__proto__",
    "process.exit": "process.exit",
    "child_process": "module-loading",
}
"""The construct that a keyword stands for; several where it stands for each of them, the first by default."""

SYNTAX: Final = {
    "type_annotation": ("Remove the type annotations: send JavaScript, not TypeScript.",),
    "return_outside_function": ("Send the expression without return: document.title.",),
    "statement_where_expression": (
        "Send one expression, or put the statements into a function: () => { const x = 1; return x; }.",
    ),
}
"""The next actions for each kind of ``details.syntax``."""
