"""The constructs that policy decides about, one module each (guard.md §3).

A construct's module holds its label, its page, its examples, its default action and the words that wake the resolver.
Derived from these modules: the label sets (``labels``), the trigger table of the screen, ``evalward explain``,
``docs/reference/constructs.md``, the ``next_actions`` of an envelope and the tests of the examples.
"""

from evalward.guard.constructs.by_label import CONSTRUCTS, construct_of
from evalward.guard.constructs.construct import Construct, Twins

__all__ = ["CONSTRUCTS", "Construct", "Twins", "construct_of"]
