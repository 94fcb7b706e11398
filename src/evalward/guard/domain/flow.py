"""Where a value flows to: the ways in which a use comes about (guard.md §2)."""

from __future__ import annotations

from enum import Enum


class Flow(Enum):
    """Where a value goes."""

    CALL = "is called"
    CONSTRUCT = "is constructed"
    COERCE = "is turned into a primitive"
    CALLBACK = "is handed over to be called"
    ARGUMENT = "is handed to code that is not part of the payload"
    PROPERTY = "is stored in an object that outlives the payload"
    GLOBAL = "is stored where it outlives the payload"
    RETURN = "leaves the payload"
    THROW = "is thrown"
