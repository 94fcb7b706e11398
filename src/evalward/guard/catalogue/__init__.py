"""The capability catalogue: host objects and their members as data (guard.md §2).

The TOML files list, per environment, what a read, call or write of each member means. ``entries`` loads them into
``Entry`` objects, which the interpreter looks up by path. No decision is made here: labels name constructs, and policy
decides about those.
"""

from evalward.guard.catalogue.entries import Catalogue, Entry, load_catalogue

__all__ = ["Catalogue", "Entry", "load_catalogue"]
