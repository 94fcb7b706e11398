"""Real drivers in a process of Node: a payload runs in one, and its result or its error comes back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Self

FOLDER = Path(__file__).parents[3] / "sinks" / "drivers"


def missing() -> str | None:
    """Return what is missing to run drivers."""
    for program in ("node", "chromium", "chromedriver"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not (FOLDER / "node_modules").is_dir():
        return "the drivers are not installed: npm ci --prefix tests/sinks/drivers"
    return None


class DriverError(Exception):
    """What driver code threw: ``name: message``."""


class Drivers:
    """The process; it starts a browser when a driver is first asked for."""

    def __init__(self) -> None:
        self.chromium = shutil.which("chromium")
        programs = [shutil.which(each) or "" for each in ("node", "chromium", "chromedriver")]
        self._process = subprocess.Popen(
            [programs[0], str(FOLDER / "serve.mjs"), *programs[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true"},
        )
        assert self._read() == {"ready": True}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, driver: str, body: str, *, alone: bool = True) -> Any:
        """Run the body of an async function; return its result, raise DriverError for what it throws.

        A program that is not ``alone`` shares a context of Playwright with others, and so must not change it.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"driver": driver, "body": body, "alone": alone}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "result" in answer:
            return answer["result"]
        raise DriverError(f"{answer['name']}: {answer['message']}")

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer
