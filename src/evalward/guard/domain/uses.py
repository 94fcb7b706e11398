"""What the interpreter finds: a use of a capability, where it is and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field

PROCESS_MEMBERS = frozenset(
    [
        "abort",
        "allowedNodeEnvironmentFlags",
        "argv0",
        "binding",
        "channel",
        "chdir",
        "config",
        "connected",
        "constrainedMemory",
        "constructor",
        "debugPort",
        "disconnect",
        "dlopen",
        "domain",
        "emit",
        "emitWarning",
        "env",
        "execArgv",
        "execPath",
        "execve",
        "exit",
        "exitCode",
        "features",
        "finalization",
        "getActiveResourcesInfo",
        "getBuiltinModule",
        "getegid",
        "geteuid",
        "getgid",
        "getgroups",
        "getuid",
        "initgroups",
        "kill",
        "loadEnvFile",
        "mainModule",
        "moduleLoadList",
        "noDeprecation",
        "on",
        "once",
        "openStdin",
        "parent",
        "permission",
        "reallyExit",
        "removeListener",
        "report",
        "resourceUsage",
        "send",
        "setegid",
        "seteuid",
        "setgid",
        "setgroups",
        "setSourceMapsEnabled",
        "setuid",
        "setUncaughtExceptionCaptureCallback",
        "stderr",
        "stdin",
        "stdout",
        "throwDeprecation",
        "title",
        "umask",
        "_linkedBinding",
        "_debugProcess",
        "_getActiveHandles",
        "_kill",
        "_rawDebug",
        "_startProfilerIdleNotifier",
        "_tickCallback",
        "crash",
        "hang",
        "noAsar",
        "takeHeapSnapshot",
    ]
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a value's way, in offsets of the wrapped source."""

    note: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Use:
    """A use that policy decides about: what (a construct label), where, how it got there.

    ``rank`` orders findings, the most telling first: 0 a capability is exercised, 1 it is read by an unresolved
    key, 2 it leaves the payload, 3 a value that may be one does.
    """

    construct: str
    rank: int
    start: int
    end: int
    trace: tuple[Step, ...] = field(default=(), compare=False)
