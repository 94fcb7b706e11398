"""The Node package and its example: their own tests, and that their copies of files from here are current."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.client.denied_run import denied_run
from evalward.client.guard_reply import Decision, denial
from evalward.errors import Code, Provenance
from evalward.errors.causes import of_construct
from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.syntax.wrap import WRAPPERS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "node"
EXAMPLE = ROOT / "examples" / "node"
NPM = shutil.which("npm")

needs_npm = pytest.mark.skipif(NPM is None, reason="npm is not installed")
needs_package = pytest.mark.skipif(
    not (PACKAGE / "dist").is_dir() or not (PACKAGE / "node_modules").is_dir(),
    reason="npm ci and npm run build were not run in clients/node",
)

needs_example = pytest.mark.skipif(
    not (EXAMPLE / "node_modules").is_dir(), reason="npm ci was not run in examples/node"
)


def run_tests(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of one npm package with this environment's ``evalward`` first in PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        command or ["npm", "test"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.lasts(80)
@pytest.mark.exhaustive
@needs_npm
@needs_package
def test_the_package_passes_its_own_tests() -> None:
    done = run_tests(PACKAGE)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.lasts(80)
@pytest.mark.exhaustive
@needs_npm
@needs_package
@needs_example
def test_no_escape_reaches_chromium_through_the_example_servers() -> None:
    done = run_tests(EXAMPLE)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_codes_of_the_package_are_the_registry() -> None:
    printed = CliRunner().invoke(app, ["codes", "--json"]).stdout

    assert json.loads((PACKAGE / "codes.json").read_text("utf-8")) == json.loads(printed)


def test_the_constructs_of_the_package_are_the_catalogue() -> None:
    document = json.loads((PACKAGE / "constructs.json").read_text("utf-8"))

    kept = {each["label"]: (each["use_instead"], each["repairable"]) for each in document["constructs"]}
    assert kept == {
        label: ([*each.use_instead], of_construct(label).repairable) for label, each in CONSTRUCTS.items()
    }, "evalward explain --list --format json | node clients/node/scripts/constructs.mjs"


def test_the_shapes_of_the_package_are_the_wrappers_of_the_guard() -> None:
    shapes = json.loads((PACKAGE / "test" / "data" / "shapes.json").read_text("utf-8"))

    ours = {shape: wrapper.prefix + b"f // x" + wrapper.suffix for shape, wrapper in WRAPPERS.items()}
    assert {shape: text.encode() for shape, text in shapes.items()} == ours


@needs_npm
@needs_package
def test_a_denial_of_the_package_is_the_python_clients_denial() -> None:
    script = """
        import { denial } from './dist/esm/decision.js';
        const { envelope } = denial('SERVICE_UNREACHABLE', 'away', { hint: 'wait', details: { grpc_status: 'X' } });
        console.log(JSON.stringify(envelope));
    """

    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=PACKAGE, capture_output=True, text=True, check=True
    )

    expected = denial(Code.SERVICE_UNREACHABLE, "away", hint="wait", grpc_status="X").envelope
    assert json.loads(done.stdout) == expected


@needs_npm
@needs_package
@pytest.mark.parametrize("construct", ["eval()", "process.binding", "unbounded-loop"])
def test_a_denied_run_of_the_package_is_the_python_clients(construct: str) -> None:
    provenance = Provenance("0.0.0", "a" * 64, "0" * 12, "tree-sitter-javascript 0.25.0").as_json()
    allow = Decision(
        allowed=True,
        code=None,
        envelope={"ok": True, "_meta": {"provenance": provenance, "session_id": "s1"}},
        code_hash="c" * 64,
        decision_id="d1",
        hardened=b"(v=>1)(0)",
    )
    about = {
        "envelope": allow.envelope,
        "codeHash": allow.code_hash,
        "decisionId": "d1",
        "hardenedHash": allow.hardened_hash,
    }
    script = f"""
        import {{ deniedRun }} from './dist/esm/denied-run.js';
        const {{ envelope }} = deniedRun({json.dumps(about)}, {json.dumps(construct)}, true);
        console.log(JSON.stringify(envelope));
    """

    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], cwd=PACKAGE, capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == denied_run(allow, construct, is_reported=True).envelope


def test_no_lockfile_and_no_npmrc_names_a_registry() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*package-lock.json", "*.npmrc"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    named = [
        name for name in listed.stdout.split() if '"resolved": "http' in (ROOT / name).read_text("utf-8")
    ]
    assert named == []
    npmrcs = [name for name in listed.stdout.split() if name.endswith(".npmrc")]
    assert npmrcs
    assert [name for name in npmrcs if "://" in (ROOT / name).read_text("utf-8")] == []
