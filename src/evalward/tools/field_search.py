"""Look up the rule for a field of a call: the manifest's kinds by name and by place, for one tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.field_names import folded
from evalward.tools.kinds import FieldKind, FieldRule
from evalward.tools.pointer import fits, last_step, steps_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.tools.tool import Tool

_SOURCE = FieldRule(kind=FieldKind.SOURCE)


class FieldRules:
    """The rules of ``tool`` for one of its operations: ``evaluates`` says whether its source fields are code there.

    A pointer takes precedence over a name, so that one place can be an exception to the rule of its name.
    """

    def __init__(self, tool: Tool, *, evaluates: bool) -> None:
        rules = {**dict.fromkeys(tool.sources if evaluates else (), _SOURCE), **tool.fields}
        self._names = {text: rule for text, rule in rules.items() if not text.startswith("/")}
        self._places = [(steps_of(text), rule) for text, rule in rules.items() if text.startswith("/")]
        judged = {
            text: rule
            for text, rule in rules.items()
            if rule.kind is not FieldKind.DATA or rule.within_quotes
        }
        # Names that may be logged: they come from the manifest.
        self.own_names = frozenset(_words(judged))
        self._folds = {folded(name): name for name in map(last_step, judged)}

    def of(self, name: str | int, steps: tuple[str | int, ...]) -> FieldRule | None:
        """Return the rule for the field called ``name`` at ``steps``, None if there is no rule."""
        for pattern, rule in self._places:
            if fits(pattern, steps):
                return rule
        return self._names.get(name) if isinstance(name, str) else None

    def meant_by(self, name: str) -> str | None:
        """Return the declared field that the undeclared ``name`` is a look-alike of."""
        meant = self._folds.get(folded(name))
        return None if meant == name else meant


def _words(rules: Mapping[str, FieldRule]) -> list[str]:
    return [word for text in rules for word in (steps_of(text) if text.startswith("/") else (text,))]
