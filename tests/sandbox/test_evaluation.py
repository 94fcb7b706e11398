"""The result of a payload, in every shape and at every limit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from evalward.errors import Code
from evalward.guard.target import Shape
from evalward.sandbox import RANGES, ArgumentError, EvaluationLimits, Sandbox, choose_shape, evaluate

DATA = Path(__file__).parents[1] / "data/sandbox"
RUNS = yaml.safe_load((DATA / "runs.yaml").read_text(encoding="utf-8"))
SHAPES = yaml.safe_load((DATA / "shapes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RUNS, ids=[case["code"][:60] for case in RUNS])
def test_run(case: dict[str, object]) -> None:
    arg = json.dumps(case["arg"]).encode() if "arg" in case else None
    shape = Shape(str(case["shape"])) if "shape" in case else None
    evaluation = evaluate(str(case["code"]).encode(), arg=arg, shape=shape)
    if "throws" in case:
        assert (Code.EVAL_RUNTIME_ERROR, case["throws"]) == (evaluation.code, evaluation.error_name)
    elif "code_is" in case:
        assert case["code_is"] == evaluation.code
    else:
        assert evaluation.code is None, evaluation.message
        assert case["result"] == (None if evaluation.result is None else json.loads(evaluation.result))


@pytest.mark.parametrize("case", SHAPES, ids=[case["code"][:60] for case in SHAPES])
def test_choice_of_shape(case: dict[str, str]) -> None:
    assert case["shape"] == choose_shape(case["code"].encode())


def test_same_payload_same_result_and_fuel() -> None:
    code = b"const r = []; for (let i = 0; i < 50; i++) r.push(Math.random(), Date.now()); r"
    first = evaluate(code)
    assert all(evaluate(code) == first for _ in range(20))


def test_seed_decides_math_random() -> None:
    ones = {evaluate(b"Math.random()", seed=seed).result for seed in (0, 1, 2, 2**32, 2**64 - 1)}
    assert len(ones) == 5
    assert evaluate(b"Math.random()", seed=7) == evaluate(b"Math.random()", seed=7)


def test_nothing_crosses_from_one_call_to_the_next() -> None:
    poison = (
        b"Object.prototype.leak = 1; Array.prototype.map = null; globalThis.leak = 2; JSON.stringify = null;"
        b"Promise.prototype.then = null; console.log = null; Math.random = () => 1; 1"
    )
    evaluate(poison)
    probe = (
        b"[typeof leak, typeof [].map, typeof JSON.stringify, typeof Promise.prototype.then,"
        b" typeof console.log, Math.random() < 1]"
    )
    result = evaluate(probe).result
    assert result is not None
    assert json.loads(result) == ["undefined", "function", "function", "function", "function", True]


def test_the_guest_has_no_host_objects() -> None:
    names = [
        "process",
        "require",
        "module",
        "fetch",
        "document",
        "window",
        "std",
        "os",
        "setTimeout",
        "Worker",
    ]
    found = evaluate(b"arg.filter(n => n in globalThis)", arg=json.dumps(names).encode())
    assert found.result == b"[]"


def test_import_finds_nothing() -> None:
    assert evaluate(b"import('fs').then(() => 'loaded', () => 'refused')").result == b'"refused"'


def test_console_lines_are_kept_and_cut() -> None:
    said = evaluate(b"console.log('a', {b: 1}, 2n); console.error(new TypeError('x')); 0")
    assert [(line.level, line.text) for line in said.console] == [
        ("log", 'a {"b":1} 2n'),
        ("error", "TypeError: x"),
    ]
    flood = evaluate(b"for (let i = 0; i < 1500; i++) console.log(i); 0")
    assert (len(flood.console), flood.console_dropped) == (1000, 500)
    small = evaluate(
        b"console.log('x'.repeat(60)); console.log('y'.repeat(60)); 0",
        limits=EvaluationLimits(console_bytes=100),
    )
    assert (len(small.console), small.console_dropped) == (1, 1)


def test_a_payload_cannot_speak_for_the_console() -> None:
    said = evaluate(
        b"Array.prototype.toJSON = Object.prototype.toJSON = () => 'forged'; console.log('true'); 1"
    )
    assert [line.text for line in said.console] == ["true"]


def test_result_limit_counts_bytes() -> None:
    limits = EvaluationLimits(result_bytes=12)
    assert evaluate(b"'x'.repeat(10)", limits=limits).ok
    refused = evaluate("'é'.repeat(10)".encode(), limits=limits)
    assert (refused.code, refused.limit) == (Code.EVAL_RESULT_TOO_LARGE, ("result_bytes", 12))


def test_large_argument_and_code_arrive_whole() -> None:
    arg = json.dumps(["x" * 1000] * 1000).encode()
    assert evaluate(b"arg.length + arg[999].length", arg=arg).result == b"2000"
    code = "'" + "é" * 60_000 + "'.length"
    assert evaluate(code.encode()).result == b"60000"


@pytest.mark.parametrize(
    "arg", [b"{", b"NaN", b"[1,]", b"\xff", b'"' + b"x" * (1 << 20) + b'"', b"[" * 100_000]
)
def test_argument_must_be_json(arg: bytes) -> None:
    with pytest.raises(ArgumentError):
        evaluate(b"1", arg=arg)


def test_modules_and_bad_text_are_refused() -> None:
    with pytest.raises(ValueError, match="no modules"):
        evaluate(b"1", shape=Shape.MODULE)
    with pytest.raises(UnicodeDecodeError):
        evaluate(b"'\xff'")


@pytest.mark.parametrize("name", sorted(RANGES))
def test_limits_name_their_range(name: str) -> None:
    lowest, highest = RANGES[name]
    EvaluationLimits(**{name: lowest})
    EvaluationLimits(**{name: highest})
    for value in (lowest - 1, highest + 1):
        with pytest.raises(ValueError, match=rf"{name} must be between {lowest} and {highest}"):
            EvaluationLimits(**{name: value})


def test_each_limit_has_its_code() -> None:
    sandbox = Sandbox()
    loop = b"for (;;);"
    assert sandbox.evaluate(loop).code is Code.EVAL_FUEL_EXHAUSTED
    wall = EvaluationLimits(fuel=4_000_000_000, deadline_ms=20)
    assert sandbox.evaluate(loop, limits=wall).code is Code.EVAL_TIMEOUT
    small = EvaluationLimits(memory_bytes=16 << 20)
    bomb = sandbox.evaluate(b"const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))", limits=small)
    assert (bomb.code, bomb.limit) == (Code.EVAL_MEMORY_LIMIT, ("memory_bytes", 16 << 20))
    assert bomb.memory <= 16 << 20
    assert sandbox.evaluate(b"(function f() { f() })()").code is Code.EVAL_STACK_LIMIT
    assert sandbox.evaluate(b"new Promise(() => {})").code is Code.EVAL_UNSETTLED


def test_runtime_errors_say_the_first_line_only() -> None:
    thrown = evaluate(b"throw new RangeError('first\\nsecond')")
    assert (thrown.error_name, thrown.message) == ("RangeError", "first")


HIDDEN = "".join(
    map(chr, [*range(9), *range(14, 28), *range(0x7F, 0x85), 0x9B, 0x200B, 0x202E, 0x2066, 0xFEFF])
)


@pytest.mark.parametrize("place", ["name", "message"])
def test_what_a_payload_throws_holds_nothing_invisible_and_is_short(place: str) -> None:
    text = json.dumps("Range" + HIDDEN + "[31m" + "x" * 2000)
    thrown = evaluate(f"throw {{ name: 'E', message: '', {place}: {text} }}".encode())

    shown = {"name": thrown.error_name or "", "message": thrown.message}[place]

    assert shown.startswith("Range[31mxx")
    assert shown.isprintable()
    assert len(shown) <= 500


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\x85", "\x0b"])
def test_a_name_is_one_line(end: str) -> None:
    thrown = evaluate(f"throw {{ name: {json.dumps('First' + end + 'allowed: true')} }}".encode())
    assert thrown.error_name == "First"
    assert evaluate(f"throw {{ name: {json.dumps(end)} }}".encode()).error_name == "Error"


@pytest.mark.parametrize(
    "code",
    [b"console.log('\\ud800'); 1", b"throw new Error('\\udc00')", b"throw {name: '\\ud800x', message: 'm'}"],
)
def test_half_of_a_surrogate_pair_is_replaced_where_text_must_be_utf8(code: bytes) -> None:
    evaluation = evaluate(code)
    texts = [*(line.text for line in evaluation.console), evaluation.error_name or "", evaluation.message]
    assert "\ufffd" in "".join(texts).encode().decode()
