"""Two prefixes give the same program but for the prefix: what the service relies on when it renews one."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
import yaml

from evalward.corpus.corpus_case import load_cases
from evalward.guard.harden import Hardened, NotHardenable, harden_payload
from evalward.guard.target import Shape, Target
from evalward.judging.hardening import new_prefix

HERE = Path(__file__).parent
CORPUS = HERE.parents[2] / "corpus" / "benign"
ONE = "Qz3hW8kLp0Tv"
GROUPS: dict[str, list[object]] = yaml.safe_load((HERE / "programs.yaml").read_text(encoding="utf-8"))
# The prefix in each place where a payload can hold it: names, texts, escapes of either, what is not printed.
HOLDING = {
    "name": f"let {ONE} = 1; {ONE}",
    "longer name": f"let a{ONE}b = 1; a{ONE}b",
    "escaped name": f"let \\u{{{ord(ONE[0]):x}}}{ONE[1:]} = 1; 0",
    "property": f"({{}}).{ONE}1",
    "private name": f"class A {{ #{ONE}; }}",
    "label": f"{ONE}: for (;;) break {ONE}",
    "text": f"'x{ONE}v'",
    "escaped text": "'" + "".join(f"\\x{ord(each):02x}" for each in ONE) + "'",
    "continued text": f"'{ONE[:5]}\\\n{ONE[5:]}'",
    "template": f"`{ONE}`",
    "raw template": f"String.raw`{ONE}`",
    "escaped template": f"`\\u{{{ord(ONE[0]):x}}}{ONE[1:]}`",
    "regular expression": f"/{ONE}/.test('')",
    "escaped regular expression": f"/\\x{ord(ONE[0]):02x}{ONE[1:]}/.test('')",
    "group": f"/(?<{ONE}>x)/.test('')",
    "comment": f"function f() {{ /* {ONE} */ }} String(f)",
    "directive": f"'{ONE}'; 1",
}


def _emitted(code: str, target: Target, shape: Shape, prefix: str) -> Hardened | NotHardenable:
    return harden_payload(code.encode("utf-8", "surrogatepass"), target=target, shape=shape, prefix=prefix)


def _assert_renewable(code: str, target: Target, shape: Shape) -> None:
    other = new_prefix()
    one, two = _emitted(code, target, shape, ONE), _emitted(code, target, shape, other)
    if isinstance(one, Hardened):
        assert isinstance(two, Hardened)
        assert one.text.replace(ONE.encode(), other.encode()) == two.text
    else:
        assert one == two


@pytest.mark.parametrize("group", GROUPS)
def test_programs_differ_in_the_prefix_alone(group: str) -> None:
    for case in GROUPS[group]:
        code, shape = (case["code"], case["shape"]) if isinstance(case, dict) else (str(case), "script")
        _assert_renewable(code, secrets.choice([*Target]), Shape(shape))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.yaml")), ids=lambda file: file.stem)
def test_payloads_of_the_corpus_differ_in_the_prefix_alone(file: Path) -> None:
    for case in load_cases([file]):
        for shape in [case.run_shape] if case.run_shape else [Shape.EXPRESSION, Shape.ASYNC_BODY]:
            _assert_renewable(case.run_text, case.target, shape)


@pytest.mark.parametrize("code", HOLDING.values(), ids=HOLDING)
def test_a_payload_that_holds_the_prefix(code: str) -> None:
    """It is refused, or holds the prefix only in a form in which P' does not have it."""
    made = _emitted(code, Target.SANDBOX, Shape.SCRIPT, ONE)
    if isinstance(made, NotHardenable):
        assert made.kind == "prefix"
    else:
        _assert_renewable(code, Target.SANDBOX, Shape.SCRIPT)


@pytest.mark.parametrize("code", [each for name, each in HOLDING.items() if "escaped regular" not in name])
def test_it_is_refused_in_every_form_that_is_printed(code: str) -> None:
    assert isinstance(_emitted(code, Target.SANDBOX, Shape.SCRIPT, ONE), NotHardenable)
    assert isinstance(_emitted(code, Target.SANDBOX, Shape.SCRIPT, new_prefix()), Hardened)
