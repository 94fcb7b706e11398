"""Concatenation of string values, as constants while there are few and short ones (ECMA-262 §6.1.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.guard.domain.atoms import BOTTOM, Value, of
from evalward.guard.domain.texts import unresolved_text
from evalward.guard.domain.values import MAX_STRING_LENGTH
from evalward.guard.syntax import literals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.interpret.dataflow import Dataflow

MAX_PRODUCT = 64


class Concatenation:
    """Folding of concatenations."""

    def __init__(self, dataflow: Dataflow) -> None:
        self._dataflow = dataflow
        self._unresolved: dict[tuple[Value, ...], Value] = {}  # code that runs again asks for the same ones

    def concatenated(self, pieces: Sequence[Value]) -> Value:
        """Return the concatenation of string values, as constants while there are few and short ones."""
        dataflow = self._dataflow
        results = [""]
        if all(len(piece) == 1 for piece in pieces):
            texts = [text for (text,) in pieces if type(text) is str]
            if len(texts) == len(pieces):
                dataflow.spend(len(texts))
                text = "".join(texts)
                if len(text) > MAX_STRING_LENGTH:
                    return self.unresolved(pieces)
                return of(literals.join_surrogates(text))
        for piece in pieces:
            if not piece:
                return BOTTOM
            dataflow.spend()
            constants = [atom for atom in piece if type(atom) is str]
            if len(constants) != len(piece) or len(results) * len(constants) > MAX_PRODUCT:
                return self.unresolved(pieces)
            results = [left + right for left in results for right in constants]
            dataflow.spend(len(results))
            if sum(map(len, results)) > MAX_STRING_LENGTH:
                return self.unresolved(pieces)
        return frozenset(literals.join_surrogates(text) for text in results)

    def glued(self, one: str, other: str) -> Value:
        """Return the concatenation of two constants."""
        text = one + other
        if len(text) > MAX_STRING_LENGTH:
            return self.unresolved((of(one), of(other)))
        self._dataflow.spend(2)
        return of(literals.join_surrogates(text))

    def unresolved(self, pieces: Sequence[Value]) -> Value:
        """Return the concatenation of string values that are not all known."""
        key = tuple(pieces)
        made = self._unresolved.get(key)
        if made is None:
            made = self._unresolved[key] = unresolved_text(key)
        return made
