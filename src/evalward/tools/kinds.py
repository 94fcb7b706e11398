"""What a field of a tool carries, as its manifest declares it: a closed set of kinds.

A tool that evaluates nothing by its name may still run code: a ``javascript:`` URL, a body that is served to a page,
an argument of the browser's command line, a file that is loaded. So each such field has a kind, in every tool type.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from evalward.guard.rules import Hardening
from evalward.guard.target import Shape, Target  # noqa: TC001 - Pydantic reads the annotations
from evalward.policy.fields import Bindings, TargetName, problem
from evalward.policy.named_sink import UnknownSink, asked_sink


class FieldKind(StrEnum):
    """The content of a field, which determines how it is judged."""

    SOURCE = "source"
    """Code: judged by the guard for ``target``, in ``shape``."""
    URL = "url"
    """An address that a browser opens: its scheme must be permitted, under each way to parse the text."""
    MARKUP = "markup"
    """A document or fragment that a page shows, or a body that is served to one: judged as inserted HTML."""
    LAUNCH = "launch"
    """A launch setting: an executable, an argument, an environment variable, the address of a debugger."""
    PATH = "path"
    """A place in the file system of the server."""
    TYPED = "typed"
    """Text typed into an element: an element for files takes each line as the absolute path of a file."""
    DATA = "data"
    """None of the above: not judged."""


KINDS = ", ".join(FieldKind)


Language = Literal["typescript"]
"""A language that the server compiles to JavaScript before it evaluates a text."""

LeastHardening = Literal[Hardening.OFFERED, Hardening.REQUIRED]
"""What a manifest can declare: `off` would loosen a policy."""


class FieldRule(BaseModel):
    """The kind of one field. Only ``source`` has the rest, in an eval tool the tool's own where it is left out.

    ``sink`` implies target, readings and bindings (``guard.sinks``). ``within_quotes``: the server puts this data
    between quotes in a program, so no character in it may end or escape a literal; ``escaped``: the server escapes
    quotes first, unless each has a backslash before it. ``hardening`` may make the policy's stricter. ``language`` is
    what the server compiles to JavaScript; left out, it is JavaScript.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FieldKind
    target: TargetName | None = None
    shape: Shape | None = None
    sink: StrictStr | None = None
    bindings: Bindings | None = None
    hardening: LeastHardening | None = None
    language: Language | None = None
    within_quotes: StrictBool | Literal["escaped"] = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sink is not None:
            try:
                asked_sink(self.sink, target=self.target, shape=self.shape, bindings=self.bindings)
            except UnknownSink as refusal:
                names = refusal.repair.allowed if refusal.repair else None
                allowed = ", ".join(map(str, names)) if isinstance(names, (list, tuple)) else "nothing"
                raise problem("sink", "not a sink of this target and shape", allowed) from None
        if self.within_quotes and self.kind is not FieldKind.DATA:
            raise problem("kind", "only data can be within quotes", "kind: data")
        if self.kind is not FieldKind.SOURCE and self.model_fields_set - {"kind", "within_quotes"}:
            raise problem(
                "kind",
                "only a source field has sink, target, shape, bindings, hardening and language",
                "kind: source",
            )
        return self

    @property
    def realm(self) -> Target | None:
        """The target: that of the sink, if there is one."""
        return asked_sink(self.sink).target if self.sink is not None else self.target


def _rule(value: Any) -> Any:
    if isinstance(value, dict) and "kind" in value:
        _known(value["kind"])
        return value
    if isinstance(value, str):
        return {"kind": _known(value)}
    return value


def _known(kind: Any) -> Any:
    if not isinstance(kind, str) or kind not in set(FieldKind):
        raise PydanticCustomError(
            "kind", "{problem}", {"problem": "not the kind of a field", "allowed": KINDS}
        )
    return kind


Rule = Annotated[FieldRule, BeforeValidator(_rule, json_schema_input_type=FieldRule | FieldKind)]
MAX_RULES = 128
