"""Reach another powerful Electron object.

**What.** `ipcMain`, `session` (its cookies are `storage`), `protocol`, `utilityProcess`, `net`, `safeStorage`,
`autoUpdater`, `desktopCapturer`, settings of `app` that outlive the run, files that `webContents` writes, a new
`BrowserWindow`, and Electron objects that are stored globally.

**Why.** Each of them gives the payload rights that a page does not have: handlers between the processes, a
session's preloads and extensions, decryption of stored secrets, the screen, a child process, a window with
`nodeIntegration` turned on.

**Instead.** Read the properties of `app`, `BrowserWindow` and `webContents`: names, versions, bounds, titles, URLs.

**References.** Electron, security checklist; CVE-2018-1000136, a webview that turned Node integration on again.
"""

from typing import Final

from evalward.guard.constructs.construct import Construct, Twins
from evalward.guard.target import Shape, Target

LABEL: Final = "electron"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Read names, versions, bounds, titles and URLs from app, BrowserWindow and webContents.",
        "Change settings in the application's own code, not from a payload.",
    ),
    targets=(Target.MAIN,),
    examples=(
        Twins(
            "({ ipcMain }) => ipcMain.removeAllListeners()",
            "({ BrowserWindow }) => BrowserWindow.getAllWindows().length",
            Shape.FUNCTION,
        ),
        Twins(
            "new BrowserWindow({ webPreferences: { nodeIntegration: true } })",
            "BrowserWindow.getFocusedWindow().getBounds()",
        ),
        Twins("electron.session.defaultSession.clearCache()", "electron.app.getPath('userData')"),
    ),
    wakes="crashReporter nodeIntegration nodeIntegrationInSubFrames nodeIntegrationInWorker",
)
