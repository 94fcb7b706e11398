"""The migration page from a blocklist: its commands and code, in order, on the real service."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from evalward.policy import utc_day

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "from-your-blocklist.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
BESIDE, ENFORCED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(POLICY,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SEEN = re.findall(r"^\| `(.*?)` \| (runs|blocked) \| (.*?) \| (\d+) times? \|$", PAGE, re.MULTILINE)
ANSWERS = re.findall(r"^\| `(.*?)` \| (runs|`[A-Z_]+`) \|$", PAGE, re.MULTILINE)
SERVE = "evalward serve "


def environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "EVALWARD_ADDRESS": f"unix:{folder}/evalward.sock"}


def shell(folder: Path, command: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@contextmanager
def serving(folder: Path, command: str) -> Iterator[None]:
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline())["type"] == "ready"
            yield
        finally:
            process.terminate()
            assert process.wait() == 0


def told(folder: Path, program: str, ask: str, payloads: list[str]) -> list[object]:
    """Run ``program`` and return the result of its function ``ask`` for each payload."""
    asked = (
        f"\nimport json\nprint(json.dumps([{ask}(code) for code in json.loads({json.dumps(payloads)!r})]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program.replace("timeout=5", "timeout=60") + asked],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.mark.exhaustive
def test_the_page_leads_from_a_blocklist_to_enforcement(tmp_path: Path) -> None:
    later = (utc_day() + timedelta(days=30)).isoformat()
    (tmp_path / "policy.yaml").write_text(re.sub(r"\d{4}-\d\d-\d\d", later, POLICY), encoding="utf-8")
    check, first, export, query, explain, suggest, append, check_again, strike, second = COMMANDS
    assert (first, export[:7]) == (second, "export ")
    assert first.startswith(SERVE)

    assert "warning" not in shell(tmp_path, f"{check} 2>&1")
    with serving(tmp_path, first):
        traffic = [code for code, _, _, times in SEEN for _ in range(int(times))]
        obeyed = dict(zip(traffic, told(tmp_path, BESIDE, "may_run", traffic), strict=True))
        assert obeyed == {code: mine == "runs" for code, mine, _, _ in SEEN}
        (shown,) = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL)
        assert shell(tmp_path, shown[0]) == shown[1]
    assert len(shell(tmp_path, query).splitlines()) == 12
    assert "import()" in shell(tmp_path, explain)

    shell(tmp_path, suggest)
    exceptions = tmp_path / "exceptions.yaml"
    text = exceptions.read_text("utf-8")
    assert text.count("sha256:") == 1
    exceptions.write_text(text.replace("CHANGE ME", "the report page"), "utf-8")
    shell(tmp_path, append)
    shell(tmp_path, check_again)
    shell(tmp_path, strike)
    with serving(tmp_path, second):
        answers = told(tmp_path, ENFORCED, "dispatch", [code for code, _ in ANSWERS])
    expected = ["ran" if said == "runs" else said.strip("`") for _, said in ANSWERS]
    assert answers == expected
    assert [code for code, _ in ANSWERS] == [code for code, *_ in SEEN]


def test_the_table_says_what_evalward_would_block() -> None:
    blocked = {said.strip("`") for _, _, said, _ in SEEN} - {"runs"}
    (summary,) = re.findall(r"```console\n\$ .*?\n(.*?)```", PAGE, re.DOTALL)

    assert blocked == set(json.loads(summary)["would_block"])
