"""Slots for rules, so that requests refer to rules instead of containing them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from evalward.judging.workers.frames import SLOTS, SlottedRules, slotted

if TYPE_CHECKING:
    from evalward.guard.rules import Rules


class RuleSlots:
    """Assigns slots to rules for all workers; least recently used rules lose their slot to new ones.

    Policies return the same object again, so rules are distinguished by identity: each object is kept as long as its
    slot is valid.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[int, SlottedRules] = OrderedDict()
        self._editions = 0
        self._lock = threading.Lock()

    def number(self, rules: Rules) -> SlottedRules:
        """Return ``rules`` with their slot and edition."""
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
