"""The programs that the guard has to judge for a field of a call."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.guard.markup import is_disguised
from evalward.guard.syntax.served_text import inserting, may_be_script
from evalward.guard.target import Shape, Target
from evalward.tools.kinds import FieldKind
from evalward.tools.url_schemes import scripts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.guard.rules import Hardening
    from evalward.tools.route import CallField
    from evalward.tools.tool import Tool


class Payload(NamedTuple):
    """A program to judge. ``is_made``: it is derived from the field's text, not the text itself.

    ``hardening`` is what the manifest declares for it.
    """

    payload: bytes
    target: Target
    shape: Shape | None
    bindings: Mapping[str, str] = MappingProxyType({})
    sink: str | None = None
    is_made: bool = True
    hardening: Hardening | None = None


def payloads_of(tool: Tool, field: CallField) -> Iterator[Payload]:
    """Yield the programs in ``field``: none for a path, a launch value, or a URL that is not a script.

    Raise CodedError (EVAL_BLOCKED_CONSTRUCT) for markup that no program can represent.
    """
    match field.kind:
        case FieldKind.SOURCE:
            yield _source(tool, field)
        case FieldKind.URL:
            for script in scripts_of(field.code.decode()):
                yield Payload(script, Target.RENDERER, Shape.SCRIPT)
        case FieldKind.MARKUP:
            yield from _markup(tool, field)
        case _:
            return


def _source(tool: Tool, field: CallField) -> Payload:
    rule = field.rule
    target = rule.realm or tool.target
    assert target is not None  # noqa: S101 - a source field has one: the manifest is validated
    own = rule.realm is not None
    bindings = rule.bindings if rule.bindings is not None else {} if own else tool.bindings
    shape = rule.shape or (None if own else tool.shape)
    return Payload(
        field.code,
        target,
        shape,
        bindings,
        sink=rule.sink or (None if own else tool.sink),
        is_made=False,
        hardening=rule.hardening or (None if own else tool.hardening),
    )


def _markup(tool: Tool, field: CallField) -> Iterator[Payload]:
    text = field.code.decode()
    if is_disguised(text):
        raise CodedError(
            Code.EVAL_BLOCKED_CONSTRUCT,
            f"The markup in {field.path} of {tool.name} has script or characters that hide it.",
            details={"construct": "dom-script-injection", "tool": tool.name, "path": field.path},
            repair=Repair(field=field.path),
        )
    yield Payload(inserting(text), Target.RENDERER, Shape.SCRIPT)
    if may_be_script(text):
        yield Payload(field.code, Target.RENDERER, Shape.SCRIPT, is_made=False)
