"""The page's list of members is what Web IDL and its review give, and a real page has nothing besides."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from browser import Browser
from chromium import executable, version

_HERE: Final = Path(__file__).parent
_RUNTIME: Final = _HERE.parents[3] / "runtime"
_OF_THE_PAGE: Final = {"Window.greet", "Window.$"}


def _node(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    node = shutil.which("node")
    if node is None or not (_RUNTIME / "node_modules" / "@webref").is_dir():
        pytest.skip("Web IDL is not installed: npm ci --prefix runtime")
    command = [node, str(_RUNTIME / "webidl" / script), *arguments]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=60)


def test_the_list_is_current() -> None:
    run = _node("generate.mjs", "--check")
    assert run.returncode == 0, run.stderr


def test_every_member_of_a_page_is_reviewed() -> None:
    path = executable()
    if path is None:
        pytest.skip("chromium is not installed")
    known = set(_node("members.mjs").stdout.split())
    review = json.loads((_RUNTIME / "webidl" / "review.json").read_text(encoding="utf-8"))
    known |= {member for members in review["members"].values() for member in members} | set(review["beyond"])
    language = set(review["ecmascript"])
    with Browser(path) as browser:
        browser.open()
        members = browser.run((_HERE / "walk.js").read_text(encoding="utf-8"))["result"]["value"]

    def is_known(member: str) -> bool:
        holder, _, name = member.partition(".")
        of_window = holder == "Window" and (name in known or name in language)
        return member in known or holder in language or of_window

    unknown = [one for one in members if not is_known(one) and one not in _OF_THE_PAGE]
    if unknown and version(path) > review["chromium"]:
        pytest.xfail(f"the review is of Chromium {review['chromium']}; to review: {', '.join(unknown)}")
    assert unknown == []
