"""The problems of a corpus file: cases that are not as they expect, and mappings that are no case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from evalward.codes import Code
from evalward.corpus.corpus_case import Case, CorpusError, Expectation, case_of
from evalward.errors import CodedError
from evalward.lsp.positions import Lines, Span
from evalward.lsp.problems import Problem, Severity, byte_spans, problems_of, softened
from evalward.policy import judge_under

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evalward.lsp.problems import Frame

_ROUND: Final = "case"


def problems_of_corpus(text: str, frame: Frame) -> tuple[Problem, ...] | None:
    """Return the problems of a YAML document, None if it is no list of cases.

    Target, shape, sink and bindings are those of each case.
    """
    lines = Lines(text)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = lines.whole if mark is None else lines.span(mark.index, mark.index + 1)
        problem = Problem(at, Severity.ERROR, _ROUND, " ".join(str(error).split()))
        return (problem,) if "expect:" in text and "code:" in text else None
    if not isinstance(root, yaml.SequenceNode) or not any(_is_case(each) for each in root.value):
        return None
    found: list[Problem] = []
    seen: dict[str, int] = {}
    for number, node in enumerate(root.value, 1):
        found += _problems(node, number, seen, lines, frame)
    return tuple(found)


def _is_case(node: yaml.Node) -> bool:
    return isinstance(node, yaml.MappingNode) and {"code", "expect"} <= _fields(node).keys()


def _fields(node: yaml.MappingNode) -> dict[str, yaml.Node]:
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _problems(
    node: yaml.Node, number: int, seen: dict[str, int], lines: Lines, frame: Frame
) -> Iterator[Problem]:
    begin = lines.span(node.start_mark.index, node.start_mark.index + 1)
    try:
        case = case_of(f"case {number}", _value(node))
    except (CorpusError, yaml.YAMLError) as error:
        for complaint in str(error).split("\n"):
            yield Problem(begin, Severity.ERROR, _ROUND, complaint)
        return
    if case.id in seen:
        yield Problem(begin, Severity.ERROR, _ROUND, f"the id is already used by case {seen[case.id]}")
    seen.setdefault(case.id, number)
    code = _fields(node)["code"] if isinstance(node, yaml.MappingNode) else None
    if isinstance(code, yaml.ScalarNode):
        yield from _judged(case, code, lines, frame)


def _value(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _judged(case: Case, code: yaml.ScalarNode, lines: Lines, frame: Frame) -> Iterator[Problem]:
    policy = frame.policy
    expected = case.expected(policy.profile)
    whole = _scalar(code, lines)
    if expected is None:
        return
    try:
        verdict = judge_under(
            policy, case.payload, target=case.target, shape=case.shape, bindings=case.bindings, sink=case.sink
        )
    except CodedError as refused:
        yield Problem(whole, Severity.ERROR, str(refused.code), refused.message)
        return
    span = byte_spans(case.payload, _spans(case.code, code, lines))
    problems = [*problems_of(verdict, span, whole=whole)]
    if expected is Expectation.ALLOW:
        yield from problems
    elif verdict.allowed:
        yield Problem(
            whole, Severity.ERROR, "missed", "The case expects a block, and the payload is allowed."
        )
    elif case.constructs and not (
        verdict.code is Code.EVAL_BLOCKED_KEYWORD or verdict.construct in case.constructs
    ):
        wanted = " or ".join(case.constructs)
        yield Problem(
            whole, Severity.ERROR, str(verdict.code), f"Blocked for {verdict.construct}, expected {wanted}."
        )
    else:
        yield from (softened(each, f"Blocked as expected: {each.code}") for each in problems)


def _scalar(node: yaml.ScalarNode, lines: Lines) -> Span:
    return lines.span(node.start_mark.index, max(node.end_mark.index, node.start_mark.index + 1))


def _spans(text: str, node: yaml.ScalarNode, lines: Lines) -> Callable[[int, int], Span]:
    """Return the place of offsets in the scalar; escapes and folding move text, and then it is the whole scalar."""
    begin, end = node.start_mark.index, node.end_mark.index
    source = lines.text[begin:end]
    whole = _scalar(node, lines)
    if node.style in (None, "'", '"'):
        inside = source if node.style is None else source[1:-1]
        if inside == text:
            skipped = 0 if node.style is None else 1
            return lambda first, last: lines.span(begin + skipped + first, begin + skipped + last)
        return lambda _first, _last: whole
    if node.style == "|":
        table = _literal(text, source, begin)
        if table is not None:
            return lambda first, last: lines.span(table[first], table[max(last - 1, first)] + (last > first))
    return lambda _first, _last: whole


def _literal(text: str, source: str, begin: int) -> list[int] | None:
    """Return the offset in the document of each code point of a literal block (``|``), and of its end."""
    header, _, rest = source.partition("\n")
    position = begin + len(header) + 1
    places: list[int] = []
    content = text.split("\n")
    for number, line in enumerate(rest.split("\n")[: len(content)]):
        wanted = content[number]
        if not line.endswith(wanted):
            return None
        indent = len(line) - len(wanted)
        places += range(position + indent, position + len(line) + 1)
        position += len(line) + 1
    if len(places) < len(text):
        places += [position] * (len(text) - len(places))
    return [*places[: len(text)], places[len(text)] if len(places) > len(text) else position]
