"""The in-process API: evalward.validate and what the package exports."""

from __future__ import annotations

import doctest
import hashlib
import subprocess
import sys

import pytest

import evalward
from evalward import Code, Policy, Shape, Target, validate

OPEN = Policy.default().allowing(Target)


def test_every_target_is_denied_without_a_policy() -> None:
    verdicts = [validate(b"1", target=target) for target in Target]

    assert [Code.EVAL_TARGET_DENIED] * len(Target) == [verdict.code for verdict in verdicts]


def test_a_verdict_binds_what_it_is_about() -> None:
    code = "document.title + 'é'".encode()

    verdict = validate(code, target="renderer", shape="expression", policy=OPEN)

    assert verdict.allowed
    assert hashlib.sha256(code).hexdigest() == verdict.code_hash
    assert (len(code), Target.RENDERER, Shape.EXPRESSION) == (
        verdict.code_length,
        verdict.target,
        verdict.shape,
    )


def test_names_and_members_mean_the_same() -> None:
    named = validate(b"process['exit'](0)", target="page", shape="script", policy=OPEN)
    typed = validate(b"process['exit'](0)", target=Target.RENDERER, shape=Shape.SCRIPT, policy=OPEN)

    assert typed == named


def test_bindings_declare_what_the_sink_binds() -> None:
    code = b"theApp['ex' + 'it'](0)"

    bound = validate(code, target="main", policy=OPEN, bindings={"theApp": "electron.app"})

    assert not bound.allowed


@pytest.mark.parametrize("code", ["document.title", bytearray(b"1"), memoryview(b"1"), None])
def test_only_bytes_are_judged(code: object) -> None:
    with pytest.raises(TypeError, match="must be bytes"):
        validate(code, target="main", policy=OPEN)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [{"target": "mian"}, {"target": "main", "shape": "lambda"}])
def test_an_unknown_name_is_no_verdict(names: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"mian|lambda"):
        validate(b"1", policy=OPEN, **names)  # type: ignore[arg-type]


def test_the_package_docstring_holds() -> None:
    result = doctest.testmod(evalward)

    assert (result.failed, result.attempted > 0) == (0, True)


def test_importing_the_package_loads_neither_parser_nor_models() -> None:
    probe = (
        "import sys, evalward; print([m for m in ('pydantic', 'tree_sitter', 'grpc') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_every_exported_name_exists() -> None:
    exported = [name for name in dir(evalward) if not name.startswith("_")]

    assert {"Policy", "Verdict", "validate", "Target", "Shape", "Profile", "Code"} <= set(exported)
    assert all(getattr(evalward, name) is not None for name in exported)


def test_an_unknown_export_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'valdate'"):
        _ = evalward.valdate
