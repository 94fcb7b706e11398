"""The contents of the image: pinned, locked, listed, and readable for scanners."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from deployment_files import DEPLOY, ROOT

LOCKS = ["requirements.lock", "requirements-build.lock", "requirements-extras.lock"]
SBOM = DEPLOY / "image" / "sbom.py"
PAGE = (ROOT / "docs" / "how-to" / "supply-chain.md").read_text(encoding="utf-8")
STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u10
Description: GNU C Library
 Package: not-one

Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.2.13.dfsg-1
"""


def locked(lock: str) -> dict[str, str]:
    """Return the version of each package in a lock file."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+) \\$", text, re.MULTILINE))


def test_the_base_is_pinned_by_its_digest() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (base,) = re.findall(r"^ARG BASE=(.*)$", text, re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "scratch"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("lock", LOCKS)
def test_pip_audit_reads_the_lock_and_every_hash_in_it(lock: str) -> None:
    """A dry run parses as the real one does, and sends no request."""
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "-r", lock, "--require-hashes", "--disable-pip", "--dry-run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"would have audited {len(locked(lock))} packages" in done.stderr


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index(lock: str) -> None:
    """The builder's configuration selects the index; the hashes select the packages."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(
        r"^(-i|--index-url|--extra-index-url|--find-links|--trusted-host)\b", text, re.MULTILINE
    )
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(locked(lock)) > 0


def test_the_lock_has_every_dependency() -> None:
    direct = {
        re.split(r"[^A-Za-z0-9._-]", text)[0].lower().replace("_", "-")
        for text in distribution("evalward").requires or ()
        if "extra ==" not in text
    }
    assert direct <= {name.lower() for name in locked("requirements.lock")}


def test_the_lock_of_the_build_tools_has_the_back_end() -> None:
    system = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    needed = {re.split(r"[^A-Za-z0-9._-]", text)[0] for text in system["requires"]}
    assert needed <= {name.lower() for name in locked("requirements-build.lock")}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root file system with pip's records of the real dependencies and dpkg's of two packages."""
    made = tmp_path_factory.mktemp("root")
    site = made / "opt/evalward/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    for name in (*locked("requirements.lock"), "evalward"):
        found = Path(str(distribution(name)._path))  # type: ignore[attr-defined]  # noqa: SLF001
        shutil.copytree(found, site / found.name)
    (made / "opt/evalward/pyvenv.cfg").write_text("home = /usr/local/bin\nversion = 3.11.13\n")
    (made / "var/lib/dpkg").mkdir(parents=True)
    (made / "var/lib/dpkg/status").write_text(STATUS)
    return made


def listed(root: Path) -> Any:
    done = subprocess.run([sys.executable, SBOM, root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def bill(root: Path) -> Any:
    return listed(root)


@pytest.mark.exhaustive
def test_the_bill_of_materials_lists_everything_in_the_image(bill: Any) -> None:
    purls = {each["purl"] for each in bill["components"]}

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["name"] == "evalward"
    assert {purl for purl in purls if not purl.startswith("pkg:pypi/")} == {
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64",
        "pkg:deb/debian/zlib1g@1:1.2.13.dfsg-1?arch=amd64",
        "pkg:generic/python@3.11.13",
    }
    names = {purl.removeprefix("pkg:pypi/").partition("@")[0] for purl in purls if "pypi" in purl}
    assert names == {name.lower() for name in locked("requirements.lock")}
    for each in bill["components"]:
        if each["purl"].startswith("pkg:pypi/"):
            assert each["version"] == distribution(each["name"]).version


def test_it_says_what_needs_what(bill: Any) -> None:
    needs = {each["ref"].partition("@")[0]: each.get("dependsOn", []) for each in bill["dependencies"]}
    direct = {each.partition("@")[0] for each in needs["pypi:evalward"]}
    assert {"pypi:grpcio", "pypi:pydantic", "pypi:tree-sitter"} <= direct
    assert any(each.startswith("pypi:pydantic-core@") for each in needs["pypi:pydantic"])


@pytest.mark.exhaustive
def test_the_same_image_gives_the_same_document(root: Path, bill: Any, tmp_path: Path) -> None:
    assert listed(root) == bill
    changed = shutil.copytree(root, tmp_path / "root")
    status = changed / "var/lib/dpkg/status"
    status.write_text(status.read_text().replace("2.36-9+deb12u10", "2.36-9+deb12u11"))
    assert listed(changed)["serialNumber"] != bill["serialNumber"]


def test_an_image_without_evalward_is_none(root: Path, tmp_path: Path) -> None:
    changed = shutil.copytree(root, tmp_path / "root")
    (package,) = (changed / "opt/evalward/lib/python3.11/site-packages").glob("evalward-*.dist-info")
    shutil.rmtree(package)
    done = subprocess.run([sys.executable, SBOM, changed], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""


def test_the_page_names_what_is_there() -> None:
    for name in (*LOCKS, "deploy/image/sbom.py", ".ci/image"):
        assert name in PAGE
        assert (ROOT / name).is_file()
    commands = " ".join(re.findall(r"^\$ (.*(?:\\\n.*)*)", PAGE, re.MULTILINE)).replace("\\\n", " ")
    for command in (
        "cosign sign ",
        "cosign verify ",
        "cosign attest ",
        "cosign verify-attestation ",
        "pip-audit ",
    ):
        assert command in commands
