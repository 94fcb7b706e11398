"""Functions that travel, in real drivers: hardened driver code does the same, and what is denied stays denied."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from drivers import DriverError, Drivers, missing

from evalward.guard.target import Shape, Target
from evalward.oracle.emission import emit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).parent
PROGRAMS: list[dict[str, str]] = yaml.safe_load((FOLDER / "programs.yaml").read_text("utf-8"))
DENIALS: list[dict[str, Any]] = [
    case
    for file in ("denials.yaml", "sites.yaml")
    for case in yaml.safe_load((FOLDER / file).read_text("utf-8"))
]
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]


@pytest.fixture(scope="module")
def drivers() -> Iterator[Drivers]:
    with Drivers() as opened:
        yield opened


def hardened(code: str) -> str:
    made = emit(code, Target.NODE, Shape.ASYNC_BODY)
    assert made.text is not None, made.refused
    return made.text


def runner(drivers: Drivers, case: dict[str, Any]) -> Callable[[str], Any]:
    """Return what runs a program of ``case`` in its driver: alone, if one of them names more than its page."""
    codes = " ".join(case.get(member, "") for member in ("code", "attack", "twin"))
    alone = re.search(r"context|browser|newPage", codes, re.IGNORECASE) is not None
    return partial(drivers.run, case["driver"], alone=alone)


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case["id"])
def test_hardened_driver_code_does_the_same(drivers: Drivers, case: dict[str, str]) -> None:
    run = runner(drivers, case)
    if "error" in case:
        for code in (case["code"], hardened(case["code"])):
            with pytest.raises(DriverError, match=case["error"]):
                run(code)
        return
    expected = run(case["code"])
    assert run(hardened(case["code"])) == expected


@pytest.mark.parametrize("case", DENIALS, ids=lambda case: case["id"])
def test_what_is_denied_ends_the_program_and_its_twin_goes_on(drivers: Drivers, case: dict[str, Any]) -> None:
    run = runner(drivers, case)
    assert run(hardened(case["twin"])) == run(case["twin"])
    if "refused" in case:
        assert emit(case["attack"], Target.NODE, Shape.ASYNC_BODY).construct == case["refused"]
        return
    if "same" in case:
        assert run(hardened(case["attack"])) == case["same"]
        return
    with pytest.raises(DriverError, match=r"^EvalwardDenied: evalward denied ") as caught:
        run(hardened(case["attack"]))
    assert (
        str(caught.value).removeprefix("EvalwardDenied: evalward denied ").split(":")[0] == case["construct"]
    )
