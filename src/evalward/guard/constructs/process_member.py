"""A member of `process` that is not on the list of allowed reads.

**What.** `process` is an allow list of reads: version, versions, release, platform, arch, pid, ppid, type,
resourcesPath, argv, uptime(), hrtime, memoryUsage(), cpuUsage(), cwd(), nextTick(function) and a short list of `env`
names. Every other member, present or future, is denied under its own name, as `process.binding`,
`process.mainModule`, `process.env` or `process.getBuiltinModule`.

**Why.** A deny list of an object that grows with each release of Node and Electron is always one release late.
`process.mainModule`, `process.binding`, `process._linkedBinding`, `process.dlopen` and `process.getBuiltinModule`
each lead to the file system and to child processes; the whole of `process.env` holds the secrets of the machine;
`process.on` outlives the payload.

A denied *function* or *object* may still be compared and tested, because its identity is no secret: `typeof
process.env` and `if (process.send)` are allowed. Denied *data* may not even be read. One comparison
(`process.env.TOKEN < 'm'`), a test, `typeof`, `in`, a default or an exception each reveal one bit, and a loop
collects the bits.

**Instead.** Read one of the allowed members. A policy may add reads (`process_reads`) and names of environment
variables (`env_names`), or decide about one member under its own label.

**References.** Node.js DEP0111 (`process.binding`); vm2 CVE-2019-10761 and CVE-2023-37466, n8n CVE-2025-68613 and
jsonpath-plus CVE-2024-21534, whose payloads first reach `process`, and through it the rest of the machine.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins

PREFIX: Final = "process."
LABEL: Final = f"{PREFIX}<member>"

# The denied members of Node's and Electron's `process` that give a payload something.
_CAPABILITIES = """
    _debugProcess _getActiveHandles _kill _linkedBinding _rawDebug _startProfilerIdleNotifier _tickCallback
    abort allowedNodeEnvironmentFlags argv0 binding chdir config connected constrainedMemory constructor
    debugPort disconnect dlopen domain emit emitWarning env execArgv execPath execve exit exitCode features
    finalization getActiveResourcesInfo getBuiltinModule getegid geteuid getgid getgroups getuid initgroups
    kill loadEnvFile mainModule moduleLoadList on once openStdin permission reallyExit removeListener report
    resourceUsage send setegid seteuid setgid setgroups setSourceMapsEnabled setuid
    setUncaughtExceptionCaptureCallback stderr stdin stdout title umask crash hang noAsar noDeprecation
    takeHeapSnapshot throwDeprecation
"""
# Ordinary words, which a payload may have made up: logs leave them out.
_ORDINARY_WORDS = frozenset({"channel", "parent"})
# The other members of `process`: allowed reads, and denied members that give a payload little.
_OTHERS = """
    _debugEnd _eval _events _eventsCount _exiting _fatalException _getActiveRequests _maxListeners
    _preload_modules _stopProfilerIdleNotifier addListener arch argv assert availableMemory cpuUsage cwd
    eventNames getMaxListeners hasUncaughtExceptionCaptureCallback hrtime listenerCount listeners
    memoryUsage nextTick off pid platform ppid prependListener prependOnceListener rawListeners ref release
    removeAllListeners resourcesPath setMaxListeners sourceMapsEnabled threadCpuUsage type unref uptime
    version versions crashReporter defaultApp getBlinkMemoryInfo getCPUUsage getCreationTime
    getHeapStatistics getIOCounters getProcessMemoryInfo getSystemMemoryInfo getSystemVersion helperExecPath
    isMainFrame mas parentPort sandboxed setFdLimit traceDeprecation traceProcessWarnings windowsStore
    contextIsolated contextId
"""

CAPABILITIES = _ORDINARY_WORDS.union(_CAPABILITIES.split())
"""The denied members whose use is reported first. A key put together in a loop passes through other names, too."""

DOCUMENTED_MEMBERS = (CAPABILITIES - _ORDINARY_WORDS).union(_OTHERS.split())
"""The member names that a log may repeat: no payload made them up."""

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=(
        "Read one of the allowed members: platform, arch, version, versions, pid, uptime(), memoryUsage(), cwd().",
        "Read a single environment variable that the policy lists, never the whole environment.",
        "Pass what the payload needs to know as an argument.",
    ),
    targets=EVERYWHERE,
    examples=(
        Twins("process.mainModule.filename", "process.release.name"),
        Twins("process['bind' + 'ing']('fs')", "({ binding: n => n })['bind' + 'ing']('fs')"),
        Twins("Object.keys(process.env)", "Object.keys(process.versions)"),
        Twins("Object.values(process.env)", "Object.values(process.versions)"),
        Twins("process.env.TOKEN < 'm'", "process.env.NODE_ENV === 'production'"),
        Twins("'TOKEN' in process.env", "'NODE_ENV' in process.env"),
        Twins("typeof process.env.TOKEN", "typeof process.env"),
        Twins("process.on('exit', () => 1)", "process.nextTick(() => 1)"),
    ),
    wakes="_stderr _stdout",
)
