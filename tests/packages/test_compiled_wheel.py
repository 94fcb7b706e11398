"""What the build hook compiles: modules that exist, in the wheel alone."""

import ast
import re
import tomllib

from clean_copy import ROOT

HOOK = ast.parse(ROOT.joinpath("hatch_build.py").read_text("utf-8"))
GUARD = ROOT / "src" / "evalward" / "guard"
SURROGATE = re.compile("[\ud800-\udfff]")


def literals(name: str) -> list[str]:
    """Return the texts in a constant of the hook."""
    (value,) = (
        node.value
        for node in HOOK.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name
    )
    assert value is not None
    return [
        each.value
        for each in ast.walk(value)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def test_what_is_left_out_exists() -> None:
    assert all((GUARD / name).is_file() for name in literals("NOT_COMPILED"))
    assert all((GUARD / name).is_dir() for name in literals("PACKAGES"))


def test_no_compiled_module_has_a_literal_with_a_surrogate() -> None:
    """mypyc rejects such a module, and with it the whole build, which takes minutes and is not part of every run."""
    left_out = {GUARD / name for name in literals("NOT_COMPILED")}
    compiled = [
        path
        for name in literals("PACKAGES")
        for path in GUARD.joinpath(name).rglob("*.py")
        if path not in left_out
    ]
    assert len(compiled) > 100
    for path in compiled:
        texts = [
            each.value for each in ast.walk(ast.parse(path.read_bytes())) if isinstance(each, ast.Constant)
        ]
        assert not [text for text in texts if isinstance(text, str) and SURROGATE.search(text)], path


def test_the_compilers_are_not_needed_by_an_installation() -> None:
    project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
    assert not [
        each for each in project["build-system"]["requires"] if each.startswith(("mypy", "setuptools"))
    ]
    assert [each.partition("==")[0] for each in literals("COMPILERS") if "==" in each] == ["mypy"]
