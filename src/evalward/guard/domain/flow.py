"""The flows of a value: the ways in which a use occurs (guard.md §2)."""

from __future__ import annotations

from enum import Enum


class Flow(Enum):
    """The destination of a value."""

    CALL = "is called"
    CONSTRUCT = "is constructed"
    COERCE = "is turned into a primitive"
    CALLBACK = "is handed over to be called"
    ARGUMENT = "is handed to code that is not part of the payload"
    PROPERTY = "is stored in an object that outlives the payload"
    GLOBAL = "is stored where it outlives the payload"
    RETURN = "leaves the payload"
    THROW = "is thrown"
