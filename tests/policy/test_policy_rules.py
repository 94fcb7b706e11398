from typing import Any

import pytest
from pydantic import ValidationError

from evalward.errors import Code, CodedError
from evalward.guard.rules import SEED_KEYWORDS, BlocklistMode, Limits, Rules
from evalward.guard.target import Profile, Target
from evalward.policy import (
    BindingInvalidError,
    LimitsPolicy,
    OverrideRefusedError,
    Policy,
    TargetPolicy,
    parse_allow_eval,
)

BALANCED, STRICT, SEED = Profile.BALANCED, Profile.STRICT, Profile.SEED
OPEN = Policy(
    targets={Target.MAIN: TargetPolicy(allowed=True, bindings={"app": "electron"})},
    limits=LimitsPolicy(depth=100),
)


def test_nothing_is_allowed_by_default() -> None:
    policy = Policy.default()
    assert policy.allowed_targets == ()
    for target in Target:
        assert policy.rules_for(target) == Rules(allowed=False)


def test_allowing_opts_in_and_leaves_the_original_alone() -> None:
    opened = OPEN.allowing([Target.MAIN, Target.RENDERER])
    assert opened.allowed_targets == (Target.MAIN, Target.RENDERER)
    assert OPEN.allowed_targets == (Target.MAIN,)
    assert opened.rules_for(Target.MAIN) == OPEN.rules_for(Target.MAIN)
    assert opened.digest != OPEN.digest


@pytest.mark.parametrize("own", list(Profile))
@pytest.mark.parametrize("wish", list(Profile))
def test_a_request_may_tighten_the_profile_but_not_loosen_it(own: Profile, wish: Profile) -> None:
    policy = Policy.default().with_profile(own)
    order = [SEED, BALANCED, STRICT]
    if order.index(wish) >= order.index(own):
        assert policy.rules_for(Target.MAIN, profile=wish).profile is wish
        return
    with pytest.raises(OverrideRefusedError) as caught:
        policy.rules_for(Target.MAIN, profile=wish)
    assert caught.value.code is Code.STRICT_CONSTANT_OVERRIDE
    assert caught.value.repair is not None
    assert caught.value.repair.as_json() == {
        "field": "/profile",
        "allowed": [name.value for name in order[order.index(own) :]],
    }


def test_blocklist_mode_follows_the_profile_unless_it_is_set() -> None:
    def mode(policy: Policy, **wishes: Any) -> BlocklistMode:
        return policy.rules_for(Target.MAIN, **wishes).blocklist_mode

    assert mode(Policy()) is BlocklistMode.CONFIRMED
    assert mode(Policy(profile=STRICT)) is BlocklistMode.CONFIRMED
    seed = Policy(profile=SEED, allow_weak=True)
    assert mode(seed) is BlocklistMode.SUBSTRING
    assert mode(seed, profile=STRICT) is BlocklistMode.SUBSTRING, "a stricter wish must not loosen the list"


def test_the_default_list_is_the_seed_list() -> None:
    assert tuple(word.text for word in Policy().rules_for(Target.MAIN).keywords) == SEED_KEYWORDS


def test_seed_needs_allow_weak_except_as_the_operators_choice() -> None:
    with pytest.raises(ValidationError, match="comparisons only"):
        Policy(profile=SEED)
    chosen = OPEN.with_profile(SEED)
    assert chosen.allow_weak
    assert chosen.rules_for(Target.MAIN).profile is SEED
    assert chosen.rules_for(Target.MAIN).allowed


def test_with_profile_holds_for_targets_that_have_one_of_their_own() -> None:
    policy = Policy(targets={Target.MAIN: TargetPolicy(profile=STRICT)}).with_profile(BALANCED)
    assert policy.rules_for(Target.MAIN).profile is BALANCED
    assert not policy.allow_weak


def test_a_request_may_lower_limits() -> None:
    wish = Limits(payload_bytes=10, depth=100, nodes_per_64k=1, steps=1)
    assert OPEN.rules_for(Target.MAIN, limits=wish).limits == wish


@pytest.mark.parametrize("depth", [101, 0, -1])
def test_a_request_may_not_raise_a_limit_or_switch_it_off(depth: int) -> None:
    with pytest.raises(OverrideRefusedError) as caught:
        OPEN.rules_for(Target.MAIN, limits=Limits(depth=depth))
    assert caught.value.repair is not None
    assert caught.value.repair.as_json() == {
        "field": "/limits/depth",
        "range": {"minimum": 1, "maximum": 100},
        "limit": "depth",
        "limit_value": 100,
        "actual": depth,
    }


def test_a_request_adds_bindings_to_the_policy() -> None:
    rules = OPEN.rules_for(Target.MAIN, bindings={"arg": "json", "app": "electron"})
    assert dict(rules.bindings) == {"app": "electron", "arg": "json"}


@pytest.mark.parametrize(
    ("bindings", "error"),
    [
        ({"app": "json"}, OverrideRefusedError),
        ({"process": "json"}, OverrideRefusedError),
        ({"globalThis": "json"}, OverrideRefusedError),
        ({"a-b": "json"}, BindingInvalidError),
        ({"a": "json\n"}, BindingInvalidError),
        ({"a\n": "json"}, BindingInvalidError),
        ({"": "json"}, BindingInvalidError),
        ({"a": ""}, BindingInvalidError),
        ({"pröcess": "json"}, BindingInvalidError),
        ({f"a{n}": "json" for n in range(65)}, BindingInvalidError),
    ],
)
def test_bindings_that_would_loosen_or_confuse_are_refused(
    bindings: dict[str, str], error: type[CodedError]
) -> None:
    with pytest.raises(error):
        OPEN.rules_for(Target.MAIN, bindings=bindings)


def test_equal_requests_share_their_rules() -> None:
    first = OPEN.rules_for(Target.MAIN, bindings={"a": "json", "b": "json"})
    assert OPEN.rules_for(Target.MAIN, bindings={"b": "json", "a": "json"}) is first
    assert OPEN.rules_for(Target.RENDERER, bindings={"a": "json", "b": "json"}) is not first


def test_a_policy_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        OPEN.profile = SEED
    with pytest.raises(TypeError):
        OPEN.targets[Target.NODE] = TargetPolicy(allowed=True)  # type: ignore[index]
    with pytest.raises(TypeError):
        OPEN.rules_for(Target.MAIN).bindings["process"] = "json"  # type: ignore[index]


def test_policies_that_mean_the_same_are_equal() -> None:
    assert {Policy(), Policy.default(), OPEN} == {OPEN, Policy()}
    assert Policy() != OPEN
    assert Policy() != Policy().digest


def test_digest_is_over_the_meaning_and_not_the_spelling() -> None:
    spelled_out = Policy(
        targets={Target.MAIN: TargetPolicy(allowed=False), Target.NODE: TargetPolicy(profile=BALANCED)}
    )
    assert spelled_out.digest == Policy.default().digest
    assert len(spelled_out.digest) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"profile": "strict"},
        {"targets": {"node": {"allowed": True}}},
        {"targets": {"node": {"bindings": {"a": "json"}}}},
        {"constructs": {"network": "block"}},
        {"blocklist": {"mode": "substring"}},
        {"blocklist": {"add": [{"id": "a", "text": "b"}]}},
        {"blocklist": {"remove": ["eval("]}},
        {"limits": {"depth": 5}},
        {"process_reads": ["title"]},
        {"env_names": ["CI"]},
    ],
    ids=str,
)
def test_digest_sees_every_field(change: dict[str, object]) -> None:
    changed = Policy.model_validate(change)
    assert changed.digest != Policy.default().digest
    assert changed.digest == Policy.model_validate(change).digest


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("renderer", {Target.RENDERER}),
        ("renderer,main", {Target.RENDERER, Target.MAIN}),
        (" page , sandbox ", {Target.RENDERER, Target.SANDBOX}),
        ("all", set(Target)),
        ("", set()),
        ("  ", set()),
    ],
)
def test_allow_eval(value: str, expected: set[Target]) -> None:
    assert parse_allow_eval(value) == expected


@pytest.mark.parametrize("value", ["everything", "main,", ",", "main,all", "Main", "main;node", "*"])
def test_an_unclear_allow_eval_opens_nothing(value: str) -> None:
    with pytest.raises(CodedError, match="--allow-eval takes targets") as caught:
        parse_allow_eval(value)
    assert caught.value.code is Code.CONFIG_INVALID
    assert caught.value.repair is not None
    assert "renderer" in str(caught.value.repair.allowed)
