"""The verdict cache. It is outside the guard, which stays a pure function (guard.md §6).

The key contains everything that determines a verdict: SHA-256 and length of the payload, target, shape, sink, and a
digest of the effective rules (every field: profile, limits, bindings, keywords), the ruleset and the grammar. A changed
policy therefore never gets a verdict of the previous one. Only deterministic outcomes are cached: one that depends on a
clock, a worker's death or an exception is judged again.

The cache is bounded by entries and by bytes, with least-recently-used eviction, so that a flood of distinct payloads
costs a fixed amount of memory. It contains nothing of a request besides its verdict: decision ids, audit records and
times are new for each request. A verdict has no payload text, except in the program of a hardened allow and in the
rewrites of a denial, which do not outlive it. Response times disclose whether a payload was judged before; where
callers must not learn that about each other, a size of 0 disables the cache.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from cachetools import LRUCache

from evalward.codes import Code
from evalward.guard.repair import judge_repaired
from evalward.guard.syntax.grammar import GRAMMAR
from evalward.judging.hardening import with_program

if TYPE_CHECKING:
    from evalward.guard.rules import Rules
    from evalward.guard.syntax.program import ParsedProgram
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict

Key: TypeAlias = tuple[bytes, int, "Target", "Shape | None", bool, "str | None", bool, bytes]

DEFAULT_ENTRIES: Final = 4_096
DEFAULT_MAX_BYTES: Final = 16 * 1024 * 1024

# Measured with tracemalloc (CPython 3.11, 64 bits) and rounded up: key, verdict, message and the cache's own tables.
_ENTRY_BYTES: Final = 1_280
_FINDING_BYTES: Final = 512
_STEP_BYTES: Final = 640
# Rules with limits of single requests; a policy itself has four.
_KNOWN_RULES: Final = 256

_LASTING: Final = frozenset(
    {
        None,
        Code.EVAL_BAD_ENCODING,
        Code.EVAL_BLOCKED_CONSTRUCT,
        Code.EVAL_BLOCKED_KEYWORD,
        Code.EVAL_PAYLOAD_TOO_LARGE,
        Code.EVAL_SYNTAX_ERROR,
        Code.EVAL_TARGET_DENIED,
    }
)
_COUNTED_LIMITS: Final = frozenset({"depth", "nodes", "parse_budget", "steps"})


class CacheInfo(NamedTuple):
    """The counts and the content of a cache; ``weight`` is in estimated bytes."""

    hits: int
    misses: int
    entries: int
    weight: int


class VerdictCache:
    """At most ``entries`` verdicts within ``max_bytes`` of memory, shared by any number of threads.

    Raises ValueError when either is less than 1.
    """

    def __init__(self, entries: int = DEFAULT_ENTRIES, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        if entries < 1 or max_bytes < 1:
            raise ValueError("a verdict cache needs room for at least one entry and one byte")
        # One weight implements both bounds: an entry weighs at least its share of the bytes.
        entries = min(entries, max_bytes)
        least = max_bytes // entries
        self._verdicts: LRUCache[Key, Verdict] = LRUCache(
            least * entries, lambda verdict: max(least, weight(verdict))
        )
        self._rules: LRUCache[int, tuple[Rules, bytes]] = LRUCache(_KNOWN_RULES)
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def key(  # noqa: PLR0913 - what a verdict follows from
        self,
        payload: bytes,
        *,
        target: Target,
        shape: Shape | None,
        rules: Rules,
        shape_from_text: bool = False,
        sink: str | None = None,
        harden: bool = False,
    ) -> Key:
        """Return the key of a verdict on ``payload``; ``shape_from_text`` and ``harden`` as in ``executor.Job``."""
        return (
            sha256(payload).digest(),
            len(payload),
            target,
            shape,
            shape_from_text,
            sink,
            harden,
            self._digest_of(rules),
        )

    def judge(  # noqa: PLR0913 - what a verdict follows from
        self,
        payload: bytes,
        *,
        target: Target,
        shape: Shape | None,
        rules: Rules,
        sink: str | None = None,
        harden: bool = False,
    ) -> Verdict:
        """Return the guard's verdict, from the cache if possible; parameters as in ``evalward.guard.judge``.

        With ``harden`` an allow has a program, or the reason why there is none.
        """
        key = self.key(payload, target=target, shape=shape, rules=rules, sink=sink, harden=harden)
        verdict = self.get(key)
        if verdict is None:
            readings: list[ParsedProgram] | None = [] if harden else None
            verdict = judge_repaired(
                payload, target=target, shape=shape, rules=rules, sink=sink, readings=readings
            )
            if readings is not None:
                verdict = with_program(verdict, payload, rules, readings)
            self.put(key, verdict)
        return verdict

    def get(self, key: Key) -> Verdict | None:
        """Return the cached verdict under ``key``, None if there is none."""
        with self._lock:
            verdict = self._verdicts.get(key)
            if verdict is None:
                self._misses += 1
            else:
                self._hits += 1
            return verdict

    def put(self, key: Key, verdict: Verdict) -> None:
        """Cache ``verdict``, unless it is not deterministic or too large."""
        if is_lasting(verdict):
            with self._lock:
                try:
                    self._verdicts[key] = verdict
                except ValueError:  # larger than the whole cache
                    return

    def info(self) -> CacheInfo:
        """Return the current counts."""
        with self._lock:
            held = self._verdicts
            return CacheInfo(self._hits, self._misses, len(held), int(held.currsize))

    def _digest_of(self, rules: Rules) -> bytes:
        """Return the digest of ``rules``, computed once per object: policies return the same object again.

        The object is kept with its digest, so that its id is not reused.
        """
        own = id(rules)
        with self._lock:
            known = self._rules.get(own)
        if known is not None and known[0] is rules:
            return known[1]
        digest = rules_digest(rules)
        with self._lock:
            self._rules[own] = (rules, digest)
        return digest


def is_lasting(verdict: Verdict) -> bool:
    """Whether judging again gives the same verdict: its code, and its limit if any, are deterministic."""
    if verdict.unhardened is not None and verdict.unhardened.failed:
        return False
    if verdict.code is Code.EVAL_ANALYSIS_LIMIT:
        return verdict.limit is not None and verdict.limit[0] in _COUNTED_LIMITS
    return verdict.code in _LASTING


def weight(verdict: Verdict) -> int:
    """Return an upper estimate of the bytes that a cached ``verdict`` takes."""
    found = (*verdict.findings, *verdict.shadow)
    steps = sum(len(each.trace) for each in found)
    program = 0 if verdict.hardened is None else len(verdict.hardened.text)
    edits = sum(_STEP_BYTES + 4 * len(each.text) for each in verdict.rewrites)
    return _ENTRY_BYTES + _FINDING_BYTES * len(found) + _STEP_BYTES * steps + program + edits


def rules_digest(rules: Rules) -> bytes:
    """Return the SHA-256 over every field of ``rules``, the ruleset and the grammar.

    Raises TypeError for a field type without a canonical form, since a wrong cache key would be worse.
    """
    return sha256(_edition() + _canonical(rules)).digest()


@cache
def _edition() -> bytes:
    from evalward.guard.ruleset import RULESET  # noqa: PLC0415 - reads all of the guard's files

    return _text(RULESET) + _text(GRAMMAR)


def _canonical(value: object) -> bytes:
    """Return bytes that are equal only for equal values: every part is preceded by its length."""
    if isinstance(value, Enum):
        return _text(f"{type(value).__name__}.{value.name}")
    if value is None or isinstance(value, (bool, int, str)):
        return _text(repr(value))
    if is_dataclass(value):
        return _parts(
            "{", [_text(each.name) + _canonical(getattr(value, each.name)) for each in fields(value)]
        )
    if isinstance(value, Mapping):
        return _parts("<", sorted(_canonical(key) + _canonical(item) for key, item in value.items()))
    if isinstance(value, frozenset):
        return _parts("(", sorted(map(_canonical, value)))
    if isinstance(value, tuple):
        return _parts("[", list(map(_canonical, value)))
    raise TypeError(f"a rule holds a {type(value).__name__}, which has no canonical form")


def _parts(kind: str, parts: list[bytes]) -> bytes:
    return f"{kind}{len(parts)}:".encode() + b"".join(parts)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return f"{len(encoded)}:".encode() + encoded
