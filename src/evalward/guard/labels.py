"""The construct labels: the closed catalogue that policy, corpus and audit log name (guard.md §3).

They come from the modules in ``constructs``, which say what each label means.
"""

from __future__ import annotations

import re
from typing import Final

from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.rules import Action

PROCESS_FAMILY = "process.<member>"

CONSTRUCT_LABELS = frozenset(CONSTRUCTS.keys() - {PROCESS_FAMILY})

# What hides code from the parser or ends its work can never be switched (service.md, Policy).
UNSWITCHABLE_LABELS = frozenset(label for label, each in CONSTRUCTS.items() if not each.switchable)

OFF_BY_DEFAULT_LABELS = frozenset(label for label, each in CONSTRUCTS.items() if each.default is Action.ALLOW)

# The ruleset in force without a pin. A minor release counts it up, which enforces what the one before audited.
RULESET_NUMBER: Final = 1


def audited_under(ruleset: int) -> frozenset[str]:
    """Return the labels that profile balanced only audits under ``ruleset``: what later ones block (contract.md §7)."""
    return frozenset(
        label
        for label, each in CONSTRUCTS.items()
        if each.since > ruleset and each.switchable and each.default is Action.BLOCK
    )


# Members of Node's and Electron's process object: a log repeats no name that a payload made up.
_PROCESS_MEMBER_NAMES = """
    _debugEnd _debugProcess _eval _events _eventsCount _exiting _fatalException _getActiveHandles
    _getActiveRequests _kill _linkedBinding _maxListeners _preload_modules _rawDebug
    _startProfilerIdleNotifier _stopProfilerIdleNotifier _tickCallback abort addListener
    allowedNodeEnvironmentFlags arch argv argv0 assert availableMemory binding chdir config connected
    constrainedMemory constructor cpuUsage cwd debugPort disconnect dlopen domain emit emitWarning env
    eventNames execArgv execPath execve exit exitCode features finalization getActiveResourcesInfo
    getBuiltinModule getegid geteuid getgid getgroups getMaxListeners getuid
    hasUncaughtExceptionCaptureCallback hrtime initgroups kill listenerCount listeners loadEnvFile
    mainModule memoryUsage moduleLoadList nextTick off on once openStdin permission pid platform ppid
    prependListener prependOnceListener rawListeners reallyExit ref release removeAllListeners
    removeListener report resourceUsage resourcesPath send setegid seteuid setgid setgroups
    setMaxListeners setSourceMapsEnabled setuid setUncaughtExceptionCaptureCallback sourceMapsEnabled
    stderr stdin stdout threadCpuUsage title type umask unref uptime version versions
    crash crashReporter defaultApp getBlinkMemoryInfo getCPUUsage getCreationTime getHeapStatistics
    getIOCounters getProcessMemoryInfo getSystemMemoryInfo getSystemVersion hang helperExecPath isMainFrame
    mas noAsar noDeprecation parentPort sandboxed setFdLimit takeHeapSnapshot throwDeprecation
    traceDeprecation traceProcessWarnings windowsStore contextIsolated contextId
"""
PROCESS_MEMBERS = frozenset(_PROCESS_MEMBER_NAMES.split())

_PROCESS_MEMBER = re.compile(r"process\.[A-Za-z_$][A-Za-z0-9_$]{0,63}")


def is_known_label(label: str) -> bool:
    """Whether ``label`` is in the catalogue, or is ``process.`` and an ASCII member name of at most 64."""
    return label in CONSTRUCT_LABELS or _PROCESS_MEMBER.fullmatch(label) is not None


def catalogue_label(label: str) -> str:
    """Return ``label`` as logs and metrics may carry it: a member name that a payload made up is left out.

    Raise ValueError for a label that is in no catalogue.
    """
    if label in CONSTRUCT_LABELS:
        return label
    if not is_known_label(label):
        raise ValueError("not a construct label of the catalogue")
    return label if label.removeprefix("process.") in PROCESS_MEMBERS else "process"
