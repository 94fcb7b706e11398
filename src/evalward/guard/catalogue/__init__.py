"""What the guard knows of the objects around a payload: data files, and how they are read (guard.md §2)."""

from evalward.guard.catalogue.entries import Catalogue, Entry, load_catalogue

__all__ = ["Catalogue", "Entry", "load_catalogue"]
