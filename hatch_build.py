"""Compile the interpreter of the guard into the wheel when EVALWARD_COMPILE=1; otherwise the wheel is pure Python.

The extensions are made from a copy of `src` and go into the wheel alone, so that a checkout never holds one: there, and
in an editable installation, the Python modules run. The same modules are in a compiled wheel, next to their extensions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH: Final = "EVALWARD_COMPILE"
COMPILERS: Final = ("mypy==2.4.1", "setuptools>=77,<90")
PACKAGES: Final = ("builtins", "domain", "interpret")  # below evalward.guard

NOT_COMPILED: Final = frozenset(
    {
        "builtins/json_text.py",  # has literals with surrogates
        "domain/scope.py",  # a class that inherits from int
        "domain/uses.py",  # has fields of types that only a type checker imports
        "interpret/composition.py",  # empties the dictionary of its instance
        "interpret/machine.py",  # as domain/uses.py
        "interpret/recursion.py",  # the same
        "interpret/run_state.py",  # the same
        "interpret/surroundings.py",  # the same
    }
)

_CONFIGURATION: Final = "[mypy]\nstrict = True\nfollow_imports = silent\nignore_missing_imports = True\n"

_SETUP: Final = """\
import sys
from mypyc.build import mypycify
from setuptools import setup
modules = mypycify(
    ["--config-file=mypy.ini", *sys.argv[1:]], group_name="evalward", multi_file=True, opt_level="2", debug_level="0"
)
setup(name="evalward", packages=[], ext_modules=modules, script_args=["build_ext", "--build-lib=made", "-j{JOBS}"])
"""


class CompiledGuard(BuildHookInterface[Any]):
    """Adds the extensions to a wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build environment needs besides the back end."""
        return list(COMPILERS) if _asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tag the wheel with the interpreter and the platform that it is for."""
        if self.target_name != "wheel" or version == "editable" or not _asked():
            return
        self._folder = Path(mkdtemp(prefix="evalward-compile-"))
        made = _compiled(Path(self.root) / "src", self._folder)
        build_data["force_include"].update({str(path): name for path, name in made.items()})
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled."""
        if (folder := getattr(self, "_folder", None)) is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _asked() -> bool:
    return os.environ.get(SWITCH, "") == "1"


def _compiled(source: Path, folder: Path) -> dict[Path, str]:
    """Compile a copy of ``source`` in ``folder``; return the extensions with their names in the wheel."""
    shutil.copytree(source, folder / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    work = folder / "src"
    guard = work / "evalward" / "guard"
    modules = [
        str(path.relative_to(work))
        for package in PACKAGES
        for path in sorted((guard / package).rglob("*.py"))
        if path.name != "__init__.py" and path.relative_to(guard).as_posix() not in NOT_COMPILED
    ]
    (work / "mypy.ini").write_text(_CONFIGURATION)
    (work / "setup.py").write_text(_SETUP.replace("{JOBS}", str(os.cpu_count() or 1)))
    subprocess.run([sys.executable, "setup.py", *modules], cwd=work, check=True, stdout=sys.stderr)  # noqa: S603
    return {path: path.relative_to(work / "made").as_posix() for path in (work / "made").rglob("*.so")}
