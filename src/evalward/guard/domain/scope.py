"""Scopes per ECMA-262 §9 and Annex B.3: which binding a name means, and when it is still the real global."""

from __future__ import annotations


class UnitIndex(int):
    """The place of a unit among the units of a payload.

    A type of its own at run time: a plain int in an instruction is a register.
    """

    __slots__ = ()


class Scope:
    """A lexical scope. ``is_function`` scopes hold ``var`` declarations; ``names`` maps a name to its register."""

    __slots__ = ("global_vars", "is_function", "is_global", "names", "outer", "unit")

    def __init__(
        self, outer: Scope | None, unit: UnitIndex, *, is_function: bool = False, is_global: bool = False
    ) -> None:
        self.outer = outer
        self.unit = unit
        self.is_function = is_function
        self.is_global = is_global
        self.names: dict[str, int] = {}
        # Names that a script's `var` and functions put on the global object.
        self.global_vars: set[str] = set()

    def var_scope(self) -> Scope:
        """Return the nearest scope that holds ``var`` declarations."""
        scope = self
        while not scope.is_function and scope.outer is not None:
            scope = scope.outer
        return scope


class Reference:
    """A use of a name, resolved when every declaration is known (hoisting).

    ``register`` is -1 for a global; ``is_global`` also holds for a script's own ``var`` of a global name, which is
    still the real one (guard.md §2). ``owner`` is the unit whose scope binds the name. ``implicit`` is a name that is
    assigned but declared nowhere: a global that the payload makes.
    """

    __slots__ = ("implicit", "is_global", "name", "owner", "register", "scope")

    def __init__(self, name: str, scope: Scope) -> None:
        self.name = name
        self.scope = scope
        self.register = -1
        self.is_global = True
        self.owner: UnitIndex | None = None
        self.implicit = False

    def resolve(self) -> bool:
        """Find the binding and return whether there is one; call this when the whole payload is lowered."""
        name = self.name
        scope: Scope | None = self.scope
        while scope is not None:
            register = scope.names.get(name)
            if register is not None:
                self.register, self.owner = register, scope.unit
                self.is_global = name in scope.global_vars
                return True
            scope = scope.outer
        return False
