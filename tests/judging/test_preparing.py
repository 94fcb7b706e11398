"""Keys and scripts that prepare a page, and programs for it."""

import re

import pytest

from evalward import Policy, Target, VerdictCache, prepare_runtime, validate
from evalward.guard.runtime_texts import runtime_for
from evalward.judging.preparing import KEY

POLICY = Policy.default().allowing([Target.RENDERER, Target.MAIN])


def program(key: str, target: str = "renderer", cache: VerdictCache | None = None) -> str:
    verdict = validate(
        b"document.title",
        target=target,
        shape="expression",
        policy=POLICY,
        harden=True,
        prepared=key,
        cache=cache,
    )
    assert verdict.hardened is not None
    return verdict.hardened.text.decode()


def test_each_answer_has_a_key_of_its_own() -> None:
    first, second = (prepare_runtime("renderer") for _ in range(2))
    runtime = runtime_for(Target.RENDERER)
    assert first.version == runtime.version
    for prepared in (first, second):
        assert KEY.fullmatch(prepared.key)
        assert prepared.key.startswith(f"{runtime.version}.")
        assert runtime.text in prepared.script
    assert not set(first.key.split(".")[1:]) & set(second.key.split(".")[1:])


@pytest.mark.parametrize("target", ["main", "node", "sandbox"])
def test_only_a_page_can_be_prepared(target: str) -> None:
    with pytest.raises(ValueError, match="only a realm of renderer"):
        prepare_runtime(target)


def test_a_program_for_a_prepared_page_is_short() -> None:
    key = prepare_runtime("renderer").key
    text = program(key)
    assert len(text) < 4096
    assert f"__evalward_{key.split('.')[1]}" in text


def test_the_cache_holds_no_key() -> None:
    cache = VerdictCache()
    keys = [prepare_runtime("renderer").key for _ in range(2)]
    texts = [program(key, cache=cache) for key in (keys[0], "", keys[1])]
    names = [re.findall("__evalward_([0-9a-f]{32})", text) for text in texts]
    assert [set(found) for found in names] == [{keys[0].split(".")[1]}, set(), {keys[1].split(".")[1]}]
    assert cache.info().hits == 2


@pytest.mark.parametrize(("key", "target"), [("0" * 16, "renderer"), (None, "main")])
def test_the_whole_run_time_where_the_page_holds_none_of_this_version(key: str | None, target: str) -> None:
    version, _, rest = prepare_runtime("renderer").key.partition(".")
    assert len(program(f"{key or version}.{rest}", target)) > 30_000


@pytest.mark.parametrize("key", ["x", "a.b.c", "0" * 16, f"{'0' * 16}.{'0' * 32}.{'0' * 64}\n"])
def test_a_malformed_key_is_an_error_that_does_not_repeat_it(key: str) -> None:
    with pytest.raises(ValueError, match="malformed") as caught:
        program(key)
    assert key not in str(caught.value)
