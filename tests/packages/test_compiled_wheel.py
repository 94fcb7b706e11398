"""What the build hook compiles: modules that exist, in the wheel alone."""

import ast
import tomllib

from clean_copy import ROOT

HOOK = ast.parse(ROOT.joinpath("hatch_build.py").read_text("utf-8"))
GUARD = ROOT / "src" / "evalward" / "guard"


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


def test_the_compilers_are_not_needed_by_an_installation() -> None:
    project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
    assert not [
        each for each in project["build-system"]["requires"] if each.startswith(("mypy", "setuptools"))
    ]
    assert [each.partition("==")[0] for each in literals("COMPILERS") if "==" in each] == ["mypy"]
