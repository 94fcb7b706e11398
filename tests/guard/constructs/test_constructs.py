"""Every construct's examples are what its page says: generated from the modules in evalward.guard.constructs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evalward.corpus.corpus_case import Case
from evalward.errors import Code
from evalward.guard import constructs, judge
from evalward.guard.constructs import CONSTRUCTS, Construct, Twins, construct_of
from evalward.guard.constructs.labels import PROCESS_FAMILY
from evalward.guard.rules import Action, Rules
from evalward.guard.target import Profile, Target
from evalward.oracle.corpus_proof import verify_cases

if TYPE_CHECKING:
    from evalward.guard.verdict import Verdict

# What they deny is no capability that an engine could note, or hangs off an object that the traps do not have.
UNPROVABLE = {"with", "arguments.callee", "analysis-limit", "reflection", "electron"}
EACH = pytest.mark.parametrize("construct", CONSTRUCTS.values(), ids=CONSTRUCTS)
PAIRS = [
    pytest.param(
        construct,
        twins,
        id=f"{label} {index}",
    )
    for label, construct in CONSTRUCTS.items()
    for index, twins in enumerate(construct.examples)
]
OFF_BY_DEFAULT = [
    pytest.param(construct, twins, id=f"{label} {index}")
    for label, construct in CONSTRUCTS.items()
    if construct.default is Action.ALLOW
    for index, twins in enumerate(construct.examples)
]


def verdict(construct: Construct, code: str, twins: Twins, rules: Rules) -> Verdict:
    return judge(code.encode(), target=construct.target_of(twins), shape=twins.shape, rules=rules)


def switched_on(construct: Construct, profile: Profile = Profile.BALANCED) -> Rules:
    return Rules(allowed=True, profile=profile, actions={construct.label: Action.BLOCK})


@EACH
def test_a_module_bears_its_constructs_name(construct: Construct) -> None:
    module = getattr(constructs, construct.slug)
    assert construct is module.CONSTRUCT
    assert construct.label == module.LABEL
    assert construct.page == module.__doc__


def test_every_module_is_in_the_list() -> None:
    files = {path.stem for path in Path(str(constructs.__file__)).parent.glob("*.py")}
    assert files - {"__init__", "construct", "by_label", "labels", "rank"} == {
        construct.slug for construct in CONSTRUCTS.values()
    }


@EACH
def test_a_page_says_what_why_and_what_instead(construct: Construct) -> None:
    page = construct.page or ""
    assert [
        part for part in ("**What.**", "**Why", "**Instead.**", "**References.**") if part not in page
    ] == []
    assert construct.title
    assert len(construct.use_instead) >= 2
    assert all(action[0].isupper() and action.endswith((".", ")", "*")) for action in construct.use_instead)
    assert len(construct.examples) >= 2
    assert construct.targets


@pytest.mark.parametrize("profile", [Profile.BALANCED, Profile.STRICT])
@pytest.mark.parametrize(("construct", "twins"), PAIRS)
def test_a_blocked_example_is_blocked_under_its_label(
    construct: Construct, twins: Twins, profile: Profile
) -> None:
    answer = verdict(construct, twins.blocked, twins, switched_on(construct, profile))
    if construct.label == "analysis-limit":
        assert answer.code is Code.EVAL_ANALYSIS_LIMIT
    elif construct.label == PROCESS_FAMILY:
        assert construct_of(answer.construct or "") is construct
    else:
        assert construct.label == answer.construct


@pytest.mark.parametrize(("construct", "twins"), PAIRS)
def test_the_benign_twin_passes(construct: Construct, twins: Twins) -> None:
    answer = verdict(construct, twins.allowed, twins, switched_on(construct))
    assert (answer.code, answer.construct) == (None, None)


@pytest.mark.parametrize(("construct", "twins"), OFF_BY_DEFAULT)
def test_what_is_off_by_default_passes_without_a_policy(construct: Construct, twins: Twins) -> None:
    answer = verdict(construct, twins.blocked, twins, Rules(allowed=True))
    assert (answer.code, answer.construct) == (None, None)


def test_a_member_of_process_has_the_page_of_the_family() -> None:
    assert construct_of("process.binding") is CONSTRUCTS[PROCESS_FAMILY]
    assert construct_of("process.exit") is CONSTRUCTS["process.exit"]
    assert construct_of("nothing") is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", [Target.MAIN, Target.RENDERER, Target.NODE])
def test_the_examples_reach_what_they_are_blocked_for(target: Target) -> None:
    cases = [
        case
        for label, construct in CONSTRUCTS.items()
        if label not in UNPROVABLE and construct.default is Action.BLOCK
        for index, twins in enumerate(construct.examples)
        if construct.target_of(twins) is target
        for case in (
            oracle_case(construct, twins, f"{label} {index} blocked", twins.blocked, "block"),
            oracle_case(construct, twins, f"{label} {index} allowed", twins.allowed, "allow"),
        )
    ]
    report = verify_cases(cases, deadline=3)
    assert [(proof.case.id, proof.reason) for proof in report.failed] == []
    assert len(cases) >= 4


def oracle_case(construct: Construct, twins: Twins, name: str, code: str, expect: str) -> Case:
    label = "process.binding" if construct.label == PROCESS_FAMILY else construct.label
    fields = {"id": name, "code": code, "expect": expect, "construct": label if expect == "block" else None}
    return Case.model_validate({**fields, "target": construct.target_of(twins), "shape": twins.shape})
