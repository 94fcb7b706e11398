"""Names that a scope declares, and which declarations exclude one another (ECMA-262 §14.2.1, §14.12.1, §15, §16)."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Declared(Enum):
    """How a name is declared in the scope itself."""

    LEXICAL = "lexical"
    FUNCTION = "function"  # of sloppy code in a block, where a second one may follow (Annex B.3.3.4)


class Scope:
    """The names of one block, function body or program.

    ``var_names`` are those that a ``var`` declares here or in a block inside. ``excluded`` are parameters and catch
    parameters, which a lexical declaration must not repeat; ``excludes_var`` those which a ``var`` must not repeat.
    """

    __slots__ = ("excluded", "excludes_var", "function", "lexical", "outer", "simple_catch", "var_names")

    def __init__(self, outer: Scope | None = None, *, function: bool = False) -> None:
        """Begin an empty scope; ``function`` scopes hold what ``var`` declares."""
        self.outer = outer
        self.function = function
        self.lexical: dict[str, Declared] = {}
        self.var_names: set[str] = set()
        self.excluded: frozenset[str] | set[str] = _NONE
        self.excludes_var: frozenset[str] | set[str] = _NONE
        self.simple_catch: str | None = None

    def declare_lexical(self, name: str, how: Declared) -> bool:
        """Declare a name of ``let``, ``const``, a class or a function in a block; return whether that is allowed."""
        known = self.lexical.get(name)
        if known is not None and not (known is how is Declared.FUNCTION):
            return False
        self.lexical[name] = how
        return name not in self.var_names and name not in self.excluded

    def declare_var(self, name: str, *, of_head: bool = False) -> bool:
        """Declare a name of ``var``, or of a function at the top of a body; return whether that is allowed.

        ``of_head`` is that of a for-of loop, which must not repeat the parameter of a catch clause (Annex B.3.4).
        """
        scope: Scope | None = self
        while scope is not None:
            if (
                name in scope.lexical
                or name in scope.excludes_var
                or (of_head and name == scope.simple_catch)
            ):
                return False
            scope.var_names.add(name)
            if scope.function:
                return True
            scope = scope.outer
        return True


_NONE: Final[frozenset[str]] = frozenset()
