"""Which rules bear which number, so that a question refers to rules instead of carrying them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from evalward.judging.workers.frames import SLOTS, SlottedRules, slotted

if TYPE_CHECKING:
    from evalward.guard.rules import Rules


class RuleSlots:
    """Numbers rules for all workers; the least recently used ones give their slot to new ones.

    Policies hand out the same object again, and so rules are told apart by identity: the book holds each object
    as long as its number is valid.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[int, SlottedRules] = OrderedDict()
        self._editions = 0
        self._lock = threading.Lock()

    def number(self, rules: Rules) -> SlottedRules:
        """Return ``rules`` with their number."""
        own = id(rules)
        with self._lock:
            entry = self._entries.get(own)
            if entry is not None:
                self._entries.move_to_end(own)
                return entry
            slot = len(self._entries)
            if slot == SLOTS:
                slot = self._entries.popitem(last=False)[1].slot
            self._editions += 1
            entry = self._entries[own] = slotted(slot, self._editions, rules)
            return entry
