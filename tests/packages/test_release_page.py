"""The commands of docs/how-to/release.md, as printed: the packages pass the tools' checks and hold what they should."""

from __future__ import annotations

import email
import json
import re
import shutil
import tarfile
import zipfile
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from clean_copy import DEVELOPMENT, ROOT, clean_copy, environment, shell

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT.joinpath("docs/how-to/release.md").read_text("utf-8")
README = ROOT.joinpath("README.md").read_text("utf-8")
LOCKED = re.findall(
    r"^([A-Za-z0-9._-]+)==", ROOT.joinpath("requirements.lock").read_text("utf-8"), re.MULTILINE
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
RELATIVE = re.compile(r"\]\((?![a-z]+:|#)[^)]*\)")
tools = [name for name in ("build", "twine", "check_wheel_contents") if find_spec(name) is None]
needs_tools = pytest.mark.skipif(bool(tools), reason=f"evalward[dev] is not complete: {', '.join(tools)}")
needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


def commands(heading: str) -> str:
    """Return the commands below a heading of the page."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return str(block)


@needs_tools
@needs_npm
@pytest.mark.lasts(30)
@pytest.mark.exhaustive
def test_the_commands_give_packages_that_every_tool_accepts(tmp_path: Path) -> None:
    clone = clean_copy(tmp_path / "clone")
    variables = environment(DEVELOPMENT)

    for heading in ("Build", "Check", "List what is in it"):
        shell(commands(heading), clone, variables)

    dist = clone / "dist"
    (wheel,) = dist.glob("*.whl")
    (source,) = dist.glob("*.tar.gz")
    assert len(list(dist.glob("evalward-*.tgz"))) == 1
    check_wheel(wheel, clone / "src")
    # That one was built from the source distribution.
    shell("python -m build --wheel --outdir build/again", clone, variables)
    assert (clone / "build" / "again" / wheel.name).read_bytes() == wheel.read_bytes()
    check_source(source)
    check_description(wheel)
    bill = json.loads(dist.joinpath("evalward.cdx.json").read_text("utf-8"))
    names = {each["purl"].partition("@")[0] for each in bill["components"]}
    assert names == {"pkg:generic/python", *(f"pkg:pypi/{name.lower()}" for name in LOCKED)}
    node = json.loads(dist.joinpath("evalward-node.cdx.json").read_text("utf-8"))
    assert "@grpc/grpc-js" in {
        f"{each.get('group', '')}/{each['name']}".lstrip("/") for each in node["components"]
    }
    shell("sha256sum --check --strict SHA256SUMS", dist, variables)


def test_the_readme_of_the_node_package_links_to_no_file_of_the_clone() -> None:
    """A registry shows it as it is."""
    shown = ROOT.joinpath("clients/node/README.md").read_text("utf-8")

    assert RELATIVE.findall(FENCED.sub("", shown)) == []


def check_wheel(wheel: Path, source: Path) -> None:
    """Every file of the package is in it, data and built assets too, and nothing else is."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert {"evalward/playground/static/app.js", "evalward/sandbox/guest/quickjs-guest.wasm"} <= names
    assert [name for name in names if re.search(r"(^|/)(tests?|node_modules)/|/test_", name)] == []


def check_source(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.partition("/")[0] for name in names if "/" in name} == {"src", "proto", "corpus", "docs"}
    assert set(re.findall(r"\]\(([\w./-]+)", FENCED.sub("", README))) <= names


def check_description(wheel: Path) -> None:
    """The README as a package index shows it: code as it is, and no link to a file that the index does not have."""
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    payload = email.message_from_bytes(archive.read(metadata)).get_payload(decode=True)
    assert isinstance(payload, bytes)
    shown = payload.decode()
    assert FENCED.findall(shown) == FENCED.findall(README)
    assert RELATIVE.findall(FENCED.sub("", shown)) == []
