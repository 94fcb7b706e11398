"""Members that are known by their names alone: an unknown object may be an element, a window or a page."""

from __future__ import annotations

from typing import Final

_PAGE_METHODS = (
    "evaluate",
    "evaluateHandle",
    "evaluateAll",
    "$eval",
    "$$eval",
    "waitForFunction",
    "executeScript",
    "executeAsyncScript",
    "addInitScript",
    "evaluateOnNewDocument",
    "setContent",
    "setFrameContent",
    "goto",
)
_JUDGING_METHODS = ("setAttribute", "setAttributeNS", "insertAdjacentHTML", "toggleAttribute")
EVALUATING: Final = frozenset(
    {
        "executeJavaScript",
        "executeJavaScriptInIsolatedWorld",
        "debugger",
        "addScriptTag",
        "addPreloadScript",
        "newCDPSession",
        "newBrowserCDPSession",
        "createCDPSession",
        "createCDPConnection",
        "connectOverCDP",
        "sendDevToolsCommand",
        "sendAndGetDevToolsCommand",
        "executeCdpCommand",
        "globalEval",
        "installExtension",
        "loadExtension",
        "registerPreloadScript",
        "setPreloads",
        "installAddon",
        "registerCustomQueryHandler",
        "pinScript",
        "getBidi",
        "getExecutor",
        "callFunctionInRealm",
        "callFunctionInBrowsingContext",
        "evaluateFunctionInRealm",
        "evaluateFunctionInBrowsingContext",
        "evaluateExpression",
        "evaluateExpressionHandle",
        "evalOnSelector",
        "evalOnSelectorAll",
        "registerSelectorEngine",
        "screencastShowOverlay",
        "sendMessageToServer",
        "localUtils",
    }
)
"""Methods that evaluate what they are given, on any receiver."""
_PERHAPS_OF_PAGES = (
    "createElement",
    "createElementNS",
    "execCommand",
    "assign",
    "replace",
    "open",
    "createContextualFragment",
    *(
        f"{name}HTMLUnsafe"
        for name in ("set", "parse", "append", "prepend", "before", "after", "replaceWith")
    ),
    "Worker",
    "SharedWorker",
)
_CHOOSING_METHODS = ("setInputFiles", "uploadFile", "setFiles", "accept")
# Methods of Selenium that a locator is given, which may be a script: `{ js: … }`.
_LOCATING_METHODS = (
    "findElement",
    "findElements",
    "elementLocated",
    "elementsLocated",
    "ableToSwitchToFrame",
)
# Methods of page libraries (jQuery's manipulation) that make elements from text.
_MARKUP_METHODS = (
    "html",
    "append",
    "prepend",
    "before",
    "after",
    "replaceWith",
    "wrap",
    "wrapAll",
    "wrapInner",
    "appendTo",
    "prependTo",
    "insertBefore",
    "insertAfter",
    "parseHTML",
)
TIMERS: Final = ("setTimeout", "setInterval")
"""The functions of a window that run a text after some time."""

DRIVERS: Final = ("playwright.", "puppeteer.", "selenium.")
"""How the paths of drivers' objects begin."""
STARTING: Final = ("launch", "launchServer", "launchPersistentContext", "process")
"""Methods of drivers that start a program, or give the one that was started."""

JUDGING: Final = {
    **{name: f"Element.{name}" for name in _JUDGING_METHODS},
    **{name: name for name in TIMERS},
    "define": "customElements.define",
    "write": "unknown.write",
    "writeln": "unknown.write",
    **{name: f"unknown.{name}" for name in _PERHAPS_OF_PAGES},
    **dict.fromkeys(_MARKUP_METHODS, "unknown.markup"),
    **{name: f"playwright.page.{name}" for name in _PAGE_METHODS},
    "fulfill": "playwright.route.fulfill",
    "respond": "playwright.route.fulfill",
    **dict.fromkeys(("continue", "fallback"), "playwright.route.continue"),
    "showOverlay": "playwright.page.screencast.showOverlay",
    "send": "unknown.send",
    "browserType": "playwright.browser.browserType",  # of what an event carries
    "loadURL": "electron.webContents.prototype.loadURL",
    "getProperty": "unknown.getProperty",
    "getProperties": "unknown.getProperties",
    **dict.fromkeys(_CHOOSING_METHODS, "playwright.page.setInputFiles"),
    **dict.fromkeys(_LOCATING_METHODS, "selenium.driver.findElement"),
}
"""Methods that judge their arguments on any receiver, and the path of the function that says how."""
WRITTEN: Final = {
    "location": "value",
    "data": "value",
    "nodeIntegration": "setting",
    "nodeIntegrationInWorker": "setting",
    "nodeIntegrationInSubFrames": "setting",
}
"""Members, other than those of elements, of which a write is a sink on any receiver, and the kind of sink."""
JUDGING_OF_DRIVERS: Final = {
    **{name: f"unknown.{name}" for name in (*STARTING, "connect", "register")},
    **{name: f"playwright.browser.{name}" for name in ("newPage", "newContext")},
    **{name: f"playwright.page.{name}" for name in ("screencast", "routeFromHAR", "addStyleTag", "locator")},
    "storageState": "playwright.context.storageState",
}
"""Members of a driver's objects that judge their arguments, on any receiver in code that drives a page."""
# Those that lead from one documented object to another (`_page`, `_parent`) are left out: code has members of these
# names of its own, and what evaluates or starts something at the end of such a way is judged by its own name.
PRIVATE_OF_DRIVERS: Final = frozenset(
    {
        "_adopt",
        "_android",
        "_artifact",
        "_browserFromConnectResult",
        "_browserType",
        "_browserTypes",
        "_channel",
        "_channelOwner",
        "_connectToBrowserType",
        "_connectToWorker",
        "_connection",
        "_contextsForSelectors",
        "_continue",
        "_createChannel",
        "_createDevToolsPage",
        "_createPageInContext",
        "_createRemoteObject",
        "_createSession",
        "_customQueryHandlers",
        "_elementChannel",
        "_evaluateExposeUtilityScript",
        "_exposeCallbackBinding",
        "_exposeConsoleApi",
        "_exposeEvaluateCallback",
        "_fetchPage",
        "_frameManager",
        "_innerContinue",
        "_innerFetch",
        "_innerFulfill",
        "_innerNewContext",
        "_instrumentation",
        "_internalResponse",
        "_localUtils",
        "_mainFrame",
        "_newContextForReuse",
        "_objectFactories",
        "_onBinding",
        "_onRoute",
        "_playwright",
        "_preLaunchedBrowser",
        "_rawSend",
        "_requestWillBeSent",
        "_resolveBody",
        "_respond",
        "_rootObject",
        "_selectorEngines",
        "_serverLauncher",
        "_sessionFactory",
        "_targetManager",
        "_toImpl",
        "_webSocketRoutes",
        "_withElement",
        "_wrapApiCall",
        "browserClient",
        "customQueryHandlers",
        "getCdpClient",
        "interception",
        "networkManager",
    }
)
"""Members without documentation by which objects of Playwright and Puppeteer speak to the browser."""
PARAMETERS_OF_COMMANDS: Final = (
    *("expression", "functionDeclaration", "source", "scriptSource", "script", "html", "outerHTML", "url"),
    *("body", "responseBody"),
)
"""Parameters of commands of the Chrome DevTools Protocol that hold code, markup or a URL."""
