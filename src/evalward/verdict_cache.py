"""Verdicts of payloads that were judged before, outside the guard, which stays a pure function (guard.md §6).

A verdict is kept under everything that it follows from: SHA-256 and length of the payload, target, shape, sink, and a
digest of the effective rules (profile, limits, bindings, keywords: every field), the ruleset and the grammar. A
policy that changes therefore never meets a verdict of the old one. Only outcomes that are counted are kept: what a
clock, a worker's death or an exception decided is judged again.

Bounded twice, by entries and by bytes, least recently used first out, so that a flood of distinct payloads costs a
fixed amount of memory. No payload text is kept, and nothing of a request but its verdict: decision ids, audit
records and times are made anew for each. Who can time the answers can learn that a payload was asked for before;
where callers must not learn that of each other, a size of 0 turns the cache off.
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
from evalward.guard import judge
from evalward.guard.syntax.grammar import GRAMMAR

if TYPE_CHECKING:
    from evalward.guard.rules import Rules
    from evalward.guard.target import Shape, Target
    from evalward.guard.verdict import Verdict

Key: TypeAlias = tuple[bytes, int, "Target", "Shape | None", bool, "str | None", bytes]

DEFAULT_ENTRIES: Final = 4_096
DEFAULT_MAX_BYTES: Final = 16 * 1024 * 1024

# Measured with tracemalloc (CPython 3.11, 64 bits) and rounded up: key, verdict, message and the cache's own tables.
_ENTRY_BYTES: Final = 1_280
_FINDING_BYTES: Final = 512
_STEP_BYTES: Final = 640
# Rules that requests made of their own wishes; the plain ones of a policy are four.
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
    """What a cache did and holds; ``weight`` is in estimated bytes."""

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
        # One weight serves both bounds: no entry weighs less than its share of the bytes.
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
    ) -> Key:
        """Return what a verdict on ``payload`` follows from; ``shape_from_text`` as in ``server.executor.Job``."""
        return (
            sha256(payload).digest(),
            len(payload),
            target,
            shape,
            shape_from_text,
            sink,
            self._digest_of(rules),
        )

    def judge(
        self,
        payload: bytes,
        *,
        target: Target,
        shape: Shape | None,
        rules: Rules,
        sink: str | None = None,
    ) -> Verdict:
        """Return the guard's verdict, from here when it is known; as ``evalward.guard.judge``."""
        key = self.key(payload, target=target, shape=shape, rules=rules, sink=sink)
        verdict = self.get(key)
        if verdict is None:
            verdict = judge(payload, target=target, shape=shape, rules=rules, sink=sink)
            self.put(key, verdict)
        return verdict

    def get(self, key: Key) -> Verdict | None:
        """Return the verdict that is kept under ``key``."""
        with self._lock:
            verdict = self._verdicts.get(key)
            if verdict is None:
                self._misses += 1
            else:
                self._hits += 1
            return verdict

    def put(self, key: Key, verdict: Verdict) -> None:
        """Keep ``verdict``, unless it is one that would not come out again or has no room."""
        if is_lasting(verdict):
            with self._lock:
                try:
                    self._verdicts[key] = verdict
                except ValueError:  # larger than all the room there is
                    return

    def info(self) -> CacheInfo:
        """Return the counts so far."""
        with self._lock:
            held = self._verdicts
            return CacheInfo(self._hits, self._misses, len(held), int(held.currsize))

    def _digest_of(self, rules: Rules) -> bytes:
        """Return the digest of ``rules``, computed once per object: policies hand out the same one again.

        The object is held along with its digest, so that its id cannot become another's.
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
    """Say whether judging again gives the same verdict: its code, and its limit if any, are counted ones."""
    if verdict.code is Code.EVAL_ANALYSIS_LIMIT:
        return verdict.limit is not None and verdict.limit[0] in _COUNTED_LIMITS
    return verdict.code in _LASTING


def weight(verdict: Verdict) -> int:
    """Return what keeping ``verdict`` costs in bytes, an estimate from above."""
    found = (*verdict.findings, *verdict.shadow)
    steps = sum(len(each.trace) for each in found)
    return _ENTRY_BYTES + _FINDING_BYTES * len(found) + _STEP_BYTES * steps


def rules_digest(rules: Rules) -> bytes:
    """Return SHA-256 over every field of ``rules``, the ruleset and the grammar.

    Raises TypeError for a field of a type that has no canonical form here: better no cache than a wrong one.
    """
    return sha256(_edition() + _canonical(rules)).digest()


@cache
def _edition() -> bytes:
    from evalward.guard.ruleset import RULESET  # noqa: PLC0415 - reads all of the guard's files

    return _text(RULESET) + _text(GRAMMAR)


def _canonical(value: object) -> bytes:
    """Return bytes that two values share only if they are equal: every part is preceded by its length."""
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
