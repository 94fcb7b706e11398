"""A corpus report as JUnit XML, which CI services show case by case. It names cases by id and repeats no payload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.corpus.regression import Outcome, Report

_FAILURES = {
    "missed": "expected a block, was allowed",
    "wrong_construct": "blocked for another construct than expected",
    "wrongly_blocked": "expected an allow, was blocked",
}


def junit_xml(report: Report, elapsed_s: float) -> bytes:
    """Return ``report`` as one test suite a target, UTF-8; ``elapsed_s`` is that of the whole run, in seconds.

    A denial for size, depth or budget is skipped, since it does not count as detection (guard.md §0).
    """
    document = JUnitXml(f"evalward corpus, profile {report.profile}")
    suites: dict[str, TestSuite] = {}
    for outcome, mark in _marked(report):
        target = str(outcome.case.target)
        case = TestCase(outcome.case.id, f"evalward.{target}")
        case.result = [] if mark is None else [mark]
        suites.setdefault(target, TestSuite(target)).add_testcase(case)
    for suite in suites.values():
        document.add_testsuite(suite)
    document.update_statistics()
    document.time = round(elapsed_s, 3)
    xml: bytes = document.tostring()
    return xml


def _marked(report: Report) -> Iterator[tuple[Outcome, Failure | Skipped | None]]:
    yield from ((outcome, None) for outcome in (*report.caught, *report.allowed))
    for outcome in report.limited:
        yield outcome, Skipped(f"denied with {outcome.verdict.code}: not a detection")
    for name, what in _FAILURES.items():
        for outcome in getattr(report, name):
            yield outcome, Failure(f"{what}{_answer(outcome)}")


def _answer(outcome: Outcome) -> str:
    verdict = outcome.verdict
    said = " ".join(filter(None, (verdict.code, verdict.construct or verdict.keyword)))
    return f" ({said})" if said else ""
