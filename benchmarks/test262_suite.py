"""Read test262: a checkout, or a bare git directory of it, whose path is given. Nothing of it is in this repository."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

_OURS = (Path(__file__).parent / "test262_harness.js").read_text(encoding="utf-8")
_REPLACED = {"propertyHelper.js", "doneprintHandle.js"}


@dataclass(frozen=True, slots=True)
class Test:
    """One test: its name below ``test/``, the program with its helpers, and how it is to end."""

    name: str
    program: str
    waits: bool
    negative: str | None
    """The name of the error that it must end with; ``at_parse`` says when."""
    at_parse: bool


class Suite:
    """The suite in ``path``; raises FileNotFoundError when there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_tree = (path / "harness").is_dir()
        if not self._is_tree and not (path / "HEAD").exists() and not (path / ".git").exists():
            raise FileNotFoundError(f"{path}: neither a checkout of test262 nor a git directory of it")

    def names(self, part: str) -> list[str]:
        """Return the names of the tests of ``part`` (language or built-ins), sorted."""
        if self._is_tree:
            root = self._path / "test"
            found = [str(p.relative_to(root)) for p in (root / part).rglob("*.js")]
        else:
            listed = self._git("ls-tree", "-r", "--name-only", "HEAD", f"test/{part}")
            found = [line.removeprefix("test/") for line in listed.decode().splitlines()]
        return sorted(name for name in found if name.endswith(".js") and "_FIXTURE" not in name)

    def test(self, name: str) -> Test | None:
        """Return a test, or None for one that is no script."""
        source = self._read(f"test/{name}")
        about = _about(source)
        flags = about.get("flags") or []
        if "module" in flags:
            return None
        helpers = [] if "raw" in flags else self._helpers(about.get("includes") or [])
        strict = '"use strict";\n' if "onlyStrict" in flags else ""
        negative = about.get("negative") or {}
        at_parse = negative.get("phase") == "parse"
        program = strict + source if at_parse else "\n".join([strict, *helpers, source])
        return Test(name, program, "async" in flags, negative.get("type"), at_parse)

    def _helpers(self, includes: Sequence[str]) -> list[str]:
        names = ["assert.js", "sta.js", *(name for name in includes if name not in _REPLACED)]
        return [*(self._read(f"harness/{name}") for name in names), _OURS]

    @cache  # noqa: B019 - one suite a process
    def _read(self, path: str) -> str:
        if self._is_tree:
            return (self._path / path).read_text(encoding="utf-8")
        return self._git("show", f"HEAD:{path}").decode("utf-8", "replace")

    def _git(self, *arguments: str) -> bytes:
        return subprocess.run(
            ["git", "-C", str(self._path), *arguments], capture_output=True, check=True
        ).stdout


def _about(source: str) -> dict[str, Any]:
    _, found, rest = source.partition("/*---")
    if not found:
        return {}
    loaded: dict[str, Any] = yaml.load(
        rest.partition("---*/")[0].replace("\r", "\n"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return loaded or {}
