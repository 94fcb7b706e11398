"""The programs that the guard has to judge for a field of a call."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from evalward.errors import Code, CodedError, Repair
from evalward.guard.markup import is_disguised
from evalward.guard.syntax.locate import locate
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


def payloads_of(tool: Tool, field: CallField, *, limit_bytes: int) -> Iterator[Payload]:
    """Yield the programs in ``field``: none for a path, a launch value, or a URL that is not a script.

    ``limit_bytes`` is the limit of a payload's size. Raise CodedError for what no program can represent:
    EVAL_BLOCKED_CONSTRUCT for markup, EVAL_SYNTAX_ERROR for TypeScript.
    """
    match field.kind:
        case FieldKind.SOURCE:
            yield _source(tool, field, limit_bytes)
        case FieldKind.URL:
            for script in scripts_of(field.code.decode()):
                yield Payload(script, Target.RENDERER, Shape.SCRIPT)
        case FieldKind.MARKUP:
            yield from _markup(tool, field)
        case _:
            return


def _source(tool: Tool, field: CallField, limit_bytes: int) -> Payload:
    rule = field.rule
    target = rule.realm or tool.target
    assert target is not None  # noqa: S101 - a source field has one: the manifest is validated
    own = rule.realm is not None
    bindings = rule.bindings if rule.bindings is not None else {} if own else tool.bindings
    shape = rule.shape or (None if own else tool.shape)
    language = rule.language or (None if own else tool.language)
    code = field.code if language is None else _stripped(tool, field, limit_bytes)
    return Payload(
        code,
        target,
        shape,
        bindings,
        sink=rule.sink or (None if own else tool.sink),
        is_made=False,
        hardening=rule.hardening or (None if own else tool.hardening),
    )


def _stripped(tool: Tool, field: CallField, limit_bytes: int) -> bytes:
    if len(field.code) > limit_bytes or b"\0" in field.code:
        return field.code  # which the guard refuses
    # Few tools declare it: the grammar would be memory that every process has.
    from evalward.guard.typescript.strip import NotStripped, strip_types  # noqa: PLC0415

    stripped = strip_types(field.code, limit_bytes=limit_bytes)
    if not isinstance(stripped, NotStripped):
        return stripped
    place = locate(field.code, stripped.start, stripped.end)
    raise CodedError(
        Code.EVAL_SYNTAX_ERROR,
        f"The TypeScript in {field.path} of {tool.name} cannot be judged: {stripped.why} (line {place.line}, "
        f"column {place.column}).",
        details={"tool": tool.name, "path": field.path},
        repair=Repair(field=field.path),
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
