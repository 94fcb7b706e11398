"""The objects that surround a payload: data files, and their loader (guard.md §2)."""

from evalward.guard.catalogue.entries import Catalogue, Entry, load_catalogue

__all__ = ["Catalogue", "Entry", "load_catalogue"]
