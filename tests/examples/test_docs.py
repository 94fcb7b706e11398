"""The pages for callers: their code runs and prints the output that they show."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastmcp", reason="the extra evalward[fastmcp] is not installed")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "guarded-eval-tool-python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of the page, created by its instructions."""
    sink, tool, server, client, *_ = BLOCKS
    (manifest,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "manifest.yaml").write_text(manifest, encoding="utf-8")
    (tmp_path / "server.py").write_text(sink + tool + server, encoding="utf-8")
    (tmp_path / "try.py").write_text(client, encoding="utf-8")
    return tmp_path


def printed(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "try.py"],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_the_files_of_the_page_print_what_it_shows(folder: Path) -> None:
    assert [printed(folder)] == SHOWN


@pytest.mark.exhaustive
def test_a_server_of_the_sdk_ends_as_the_page_says(folder: Path) -> None:
    sink, tool, _, _, _, sdk, *_ = BLOCKS
    assert "evalward.mcp.sdk" in sdk
    (folder / "server.py").write_text(sink + tool + sdk, encoding="utf-8")

    shown = printed(folder)

    assert "ran" in shown.splitlines()[0]
    assert shown.splitlines()[1:] == SHOWN[0].splitlines()[1:]


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_page_of_playwright_in_place_of_the_sink_answers(folder: Path) -> None:
    server, page = folder / "server.py", BLOCKS[4]
    text = server.read_text(encoding="utf-8")
    stand_in = re.search(r"async def evaluate\(.*?\n\n\n", text, re.DOTALL)
    assert stand_in is not None
    page = page.replace('"/usr/bin/chromium"', repr(shutil.which("chromium")))
    server.write_text(text.replace(stand_in.group(), f"{page}\n\n"), encoding="utf-8")
    client = folder / "try.py"
    number = '    number = await client.call_tool("eval_renderer", {"code": "1 + 1"})\n        print(number.data)\n'
    text = client.read_text(encoding="utf-8")
    client.write_text(text.replace("        escape = ", f"    {number}        escape = "), encoding="utf-8")

    first, second, *rest = printed(folder).splitlines()

    assert f"`{first}`" in PAGE
    assert (first, second) == ('"Shop"', "2")
    assert rest == SHOWN[0].splitlines()[1:]


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_with_the_example_in_their_place_the_page_answers(folder: Path) -> None:
    client = folder / "try.py"
    text = client.read_text(encoding="utf-8")
    client.write_text(text.replace('"server.py"', repr(str(ROOT / "examples/python/server.py"))), "utf-8")

    first, *rest = printed(folder).splitlines()

    assert first == '"Evalward example"'
    assert f"`{first}`" in PAGE
    assert rest == SHOWN[0].splitlines()[1:]


def test_the_manifest_of_the_page_is_a_part_of_the_examples() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    example = (ROOT / "examples/python/manifest.yaml").read_text(encoding="utf-8")

    # The example drives its browser over CDP itself.
    assert [line for line in shown.splitlines() if line not in example.splitlines()] == [
        "    sink: playwright.evaluate"
    ]
