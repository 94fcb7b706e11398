"""Every place that names the version of a release names the same."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from clean_copy import ROOT

VERSION = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))["project"]["version"]
NAMED = {
    "deploy/compose/compose.yaml": r"image: evalward:(\S+)",
    "deploy/kubernetes/service.yaml": r"/evalward:(\S+)",
    "deploy/kubernetes/sidecar.yaml": r"/evalward:(\S+)",
    "docs/how-to/check-in-ci.md": r"(?:rev: |evalward@)v(\S+)",
    "docs/how-to/release.md": r"evalward-(\d+\.\d+\.\d+)|v(\d+\.\d+\.\d+)|Evalward (\d+\.\d+\.\d+)",
    "docs/how-to/supply-chain.md": r"/evalward:(\d\S+)",
    "docs/tutorials/guarded-eval-tool-node.md": r"evalward-(\S+?)\.tgz",
    "docs/tutorials/guarded-eval-tool-typescript.md": r"evalward-(\S+?)\.tgz",
    "README.md": r"Version (\d+\.\d+\.\d+) is not on a package index yet",
}


@pytest.mark.parametrize("package", ["clients/node", "runtime", "playground"])
@pytest.mark.parametrize("file", ["package.json", "package-lock.json"])
def test_the_packages_of_node_have_the_version(package: str, file: str) -> None:
    assert json.loads((ROOT / package / file).read_text("utf-8"))["version"] == VERSION


@pytest.mark.parametrize("page", NAMED)
def test_a_page_names_the_version(page: str) -> None:
    found = re.findall(NAMED[page], (ROOT / page).read_text("utf-8"))

    named = {
        version for each in found for version in (each if isinstance(each, tuple) else (each,)) if version
    }
    assert named == {VERSION}


def test_the_changelog_has_the_version_or_what_comes_before_it() -> None:
    headings = re.findall(r"^## \[(.*?)\]", ROOT.joinpath("CHANGELOG.md").read_text("utf-8"), re.MULTILINE)

    assert headings[0] == "Unreleased"
    assert headings[1:2] in ([], [VERSION])
