"""Ambiguous texts in the real drivers: those that run there are denied here, as the data file states."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, sync_playwright

from evalward import Policy, validate
from evalward.guard.sinks import Sink, sinks
from evalward.guard.target import Profile

HERE = Path(__file__).parent
DRIVERS = HERE / "drivers"
TEXTS: list[dict[str, Any]] = tomllib.loads((HERE / "texts.toml").read_text("utf-8"))["text"]
CODES = [text["code"] for text in TEXTS]
# The mark that a text leaves when its P runs, by a call that the guard denies wherever it sees it.
ESCAPE = "globalThis['ev'+'al']('globalThis.ran=1')"
BENIGN = "document.title.length"
# Electron is not available from the registries that the tests may use.
WITHOUT_DRIVER = {"playwright.electron-evaluate", "electron.execute-javascript"}
PAGE = "data:text/html,<body>" + "<iframe></iframe>" * len(CODES)


def missing() -> str | None:
    """Return the missing requirements of the drivers."""
    if not shutil.which("node"):
        return "node is not installed"
    if not (DRIVERS / "node_modules").is_dir():
        return f"the drivers are not installed: npm ci --prefix {DRIVERS.relative_to(HERE.parents[1])}"
    for program in ("chromium", "chromedriver"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def put(text: str, program: str) -> str:
    return re.sub(r"\bP\b", lambda _: program, text)


def readings(sink: Sink, code: str) -> list[dict[str, Any]]:
    """Return the programs that ``code`` may be according to the data."""
    read = sink.read(code)
    return [
        {"source": f"{each.prefix}{read}{each.suffix}", "frame": each.frame, "called": each.called}
        for each in sink.readings_of(read)
    ]


def ran_in_playwright() -> list[bool]:
    """Pass each text to ``evaluate`` of Playwright for Python in a new realm; return the texts whose P ran."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(PAGE)
        for frame, code in zip(page.main_frame.child_frames, CODES, strict=True):
            try:
                frame.evaluate(put(code, ESCAPE))
            except (Error, UnicodeError):
                continue
        ran: list[bool] = page.evaluate("Array.from(frames, (frame) => frame.ran !== undefined)")
        browser.close()
    return ran


def seen(folder: Path) -> Mapping[str, Any]:
    """Return for each sink the texts whose P ran in its driver, and those whose P should run."""
    request = {
        "chromium": shutil.which("chromium"),
        "chromedriver": shutil.which("chromedriver"),
        "sinks": [
            {
                "id": sink.id,
                "texts": [
                    {"code": put(code, ESCAPE), "readings": readings(sink, put(code, ESCAPE))}
                    for code in CODES
                ],
            }
            for sink in sinks().values()
        ],
    }
    file = folder / "request.json"
    file.write_text(json.dumps(request), encoding="utf-8")
    done = subprocess.run(
        ["node", str(DRIVERS / "run.mjs"), str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    found["playwright.evaluate"]["ran"] = ran_in_playwright()
    # Only an inspector has a REPL: Node's `vm` cannot reproduce it.
    found["cdp.runtime-evaluate-repl"]["said"] = found["cdp.runtime-evaluate-repl"]["ran"]
    return found


def test_no_text_that_runs_in_playwright_for_python_is_allowed() -> None:
    sink = sinks()["playwright.evaluate"]
    ran = [put(code, ESCAPE) for code, has_run in zip(CODES, ran_in_playwright(), strict=True) if has_run]

    assert len(ran) >= 15
    for profile in (Profile.BALANCED, Profile.STRICT):
        assert [code for code in ran if allowed(sink, code, profile)] == []


# One test, since each pytest worker would start all drivers again.
@pytest.mark.lasts(60)
@pytest.mark.exhaustive
def test_what_runs_in_a_driver_is_what_its_sink_says_and_is_judged(tmp_path: Path) -> None:
    found = seen(tmp_path)
    rows = [
        (sinks()[sink], text, ran, said)
        for sink, row in found.items()
        for text, ran, said in zip(TEXTS, row["ran"], row["said"], strict=False)
    ]

    asked = {sink: len(row["ran"]) for sink, row in found.items()}
    assert asked == {sink: 0 if sink in WITHOUT_DRIVER else len(CODES) for sink in sinks()}
    assert min(sum(row["ran"]) for row in found.values() if row["ran"]) >= 15

    escapes = [(sink, put(text["code"], ESCAPE)) for sink, text, ran, _ in rows if ran]
    for profile in (Profile.BALANCED, Profile.STRICT):
        assert [(sink.id, code) for sink, code in escapes if allowed(sink, code, profile)] == []

    # Only texts that are programs of a sink, without those that the guard denies for any P.
    programs = [row for row in rows if allowed(row[0], put(row[1]["code"], BENIGN), Profile.BALANCED)]
    assert [(sink.id, text["code"]) for sink, text, ran, said in programs if ran and not said] == []
    assert [
        (sink.id, text["code"])
        for sink, text, ran, said in programs
        if said and not ran and _is_exact(sink, text)
    ] == []

    refused = [row for row in rows if row[2] and row not in programs and not row[1].get("refused")]
    assert [(sink.id, text["code"]) for sink, text, *_ in refused if not _has_two(sink)] == []
    assert {text["code"] for _, text, *_ in refused} & set(PLAIN) == set()


def allowed(sink: Sink, code: str, profile: Profile) -> bool:
    policy = Policy.default().allowing([sink.target]).with_profile(profile)
    return validate(code.encode(), sink=sink.id, policy=policy).allowed


def _has_two(sink: Sink) -> bool:
    """Whether the data allow two readings of a text by a driver: such a text is rejected."""
    return any(reading.also for reading in sink.readings)


def _is_exact(sink: Sink, text: Mapping[str, Any]) -> bool:
    """Whether the data state exactly the texts that run, not an upper bound: a driver may not evaluate a value."""
    return not _has_two(sink) and "value" not in text


PLAIN = ("P", "() => P", "async () => P", "function () { P }", "({}/P/g)", "return P", "await 0; P")
