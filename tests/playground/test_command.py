"""``evalward playground``: it prints an address that works, and says what is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

POLICY = "api_version: evalward/v1\ntargets: {renderer: {allowed: true}}\n"


def test_the_address_has_a_token_and_works(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    command = [sys.executable, "-m", "evalward", "playground", "--policy", str(policy)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            address = running.stdout.readline().strip()
            found = re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/([\w-]{32})/", address)
            assert found is not None
            with urlopen(address, timeout=30) as answer:
                assert b"Evalward playground" in answer.read()
        finally:
            running.terminate()
    assert running.returncode is not None


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    done = CliRunner().invoke(app, ["playground"])

    assert (done.exit_code, "evalward[ui]" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("option", "code"), [("--policy", 3), ("--corpus", 2), ("--audit", 3), ("--audit-key", 3)]
)
def test_what_cannot_be_read_ends_it(option: str, code: int, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["playground", option, str(tmp_path / "missing.yaml")]).exit_code == code
