"""Pages that a driver has prepared, in a real browser, with a real server and the clients."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from chromium import executable
from playwright.async_api import async_playwright
from playwright.sync_api import sync_playwright

from evalward.client import AsyncGuardClient, EvalDenied, GuardClient, Prepared, guarded, prepare
from evalward.guard.target import Shape, Target
from evalward.guard.verdict import HardenedProgram, Verdict
from evalward.judging.hardening import new_prefix
from evalward.judging.preparing import for_prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.skipif(executable() is None, reason="chromium is not installed")

URL: Final = "http://page.test/"
PLAIN: Final = '<title>T</title><iframe srcdoc="<title>inner</title>"></iframe>'
PATCHED: Final = f"{URL}patched"
PATCHES: Final = """<title>T</title><script>
const seen = window.seen = [];
const patch = (o, k) => { o[k] = function () { seen[seen.length] = k; throw new Error(k) } };
for (const k of ['map', 'slice', 'indexOf', 'push']) patch(Array.prototype, k);
for (const k of ['apply', 'get', 'getPrototypeOf', 'ownKeys', 'construct']) patch(Reflect, k);
for (const k of ['toString', 'bind', 'call']) patch(Function.prototype, k);
for (const k of ['get', 'set', 'has']) patch(WeakMap.prototype, k);
for (const k of ['fromCharCode']) patch(String, k);
for (const k of ['charCodeAt', 'slice', 'indexOf']) patch(String.prototype, k);
for (const k of ['exec', 'test']) patch(RegExp.prototype, k);
for (const k of ['WeakMap', 'WeakSet', 'Proxy', 'Map', 'URL', 'Uint8Array']) window[k] = class {};
Object.defineProperty(Node.prototype, 'nodeType', { get() { seen[seen.length] = 'nodeType'; return 0 } });
Object.defineProperty(Element.prototype, 'localName', { get() { seen[seen.length] = 'localName'; return 'b' } });
Object.defineProperty = Object.freeze = Object.getOwnPropertyDescriptor = () => { seen[seen.length] = 'Object' };
</script><div id=d></div><iframe id=f srcdoc="<title>inner</title>"></iframe>"""
LOOKS: Final = """(() => {
  const found = [];
  for (const name of Object.getOwnPropertyNames(window)) {
    if (name.indexOf('__evalward_') !== 0) continue;
    for (const word of ['', 'x', window[name], {}]) {
      try { found.push([typeof window[name](word)]) } catch (e) { found.push(e.name) }
    }
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory, serving: Callable[..., Any]) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("guard"), verdict_cache=16) as started:
        yield started


@pytest.fixture(scope="module")
def client(guard: Any) -> Iterator[GuardClient]:
    with GuardClient(guard.address, timeout=30) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield made
        made.close()


def _answer(route: Route) -> None:
    body = PATCHES if route.request.url == PATCHED else PLAIN
    route.fulfill(content_type="text/html", body=body)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    made = browser.new_page()
    made.route("**/*", _answer)
    yield made
    made.close()


@pytest.fixture
def prepared(page: Page, client: GuardClient) -> Prepared:
    return prepare(page, client)


class Sink:
    """``evaluate`` of a page or frame, guarded; ``texts`` are the programs that ran."""

    def __init__(self, page: Any, client: GuardClient, prepared: Prepared | None) -> None:
        self.texts: list[str] = []
        self._run = guarded(
            lambda text: self._evaluated(page, text),
            client,
            sink="playwright.evaluate",
            harden=True,
            prepared=prepared,
        )

    def _evaluated(self, page: Any, text: str) -> Any:
        self.texts.append(text)
        return page.evaluate(text)

    def __call__(self, code: str) -> Any:
        return self._run(code)


def stopped(run: Callable[[], Any]) -> str:
    """Return the construct whose denial stopped the program."""
    with pytest.raises(EvalDenied) as caught:
        run()
    assert caught.value.envelope["code"] == "EVAL_DENIED_AT_RUN_TIME"
    return str(caught.value.envelope["details"]["construct"])


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("document.title", "T"),
        ("(() => [...document.querySelectorAll('iframe')].length)()", 1),
        ("(async () => { await null; return location.protocol })()", "http:"),
        (
            "(() => { const e = document.createElement('p'); e.textContent = 'x'; return e.outerHTML })()",
            "<p>x</p>",
        ),
        ("document.getElementById('d').innerHTML = '<b>1</b>'", "<b>1</b>"),
        ("new Date(0).getTime() + JSON.parse('[2]')[0] + Math.max(1, 3)", 5),
    ],
)
def test_a_page_that_patches_its_realm_first_is_not_noticed(
    page: Page, client: GuardClient, prepared: Prepared, code: str, result: Any
) -> None:
    page.goto(PATCHED)
    tools = page.context.new_cdp_session(page)  # Playwright's own script does not survive such a page

    def run(text: str) -> Any:
        options = {"expression": text, "returnByValue": True, "awaitPromise": True}
        reply = tools.send("Runtime.evaluate", options)
        return reply["result"]["value"] if "exceptionDetails" not in reply else reply

    def evaluate(text: str) -> Any:
        texts.append(text)
        return run(text)

    texts: list[str] = []
    sink = guarded(evaluate, client, sink="cdp.runtime-evaluate", harden=True, prepared=prepared)

    assert sink(code) == result

    assert run("window.seen.join()") == run("''")
    assert len(texts[0]) < 4096


def test_two_programs_in_one_page_are_apart(page: Page, client: GuardClient, prepared: Prepared) -> None:
    page.goto(URL)
    sink = Sink(page, client, prepared)
    page.evaluate("window.made = { get it() { return (() => 1).constructor } }")

    assert sink("void (globalThis.kept = () => document.title)") is None
    assert sink("kept()") == "T"
    assert stopped(lambda: sink("made.it('return 1')()")) == "Function()"
    assert sink("kept() + 1") == "T1"


def test_new_documents_and_frames_are_prepared(page: Page, client: GuardClient, prepared: Prepared) -> None:
    assert Sink(page, client, prepared)("document.title") == ""  # the document that was open
    for _ in range(2):
        page.goto(URL)
        titles = [Sink(frame, client, prepared)("document.title") for frame in page.frames]
        assert titles == ["T", "inner"]
    page.evaluate("document.body.append(document.createElement('iframe'))")
    added = page.frames[-1]
    assert Sink(added, client, prepared)("document.title") == ""
    page.evaluate("document.querySelector('iframe:last-of-type').src = '/other'")
    added.wait_for_url("**/other")
    assert Sink(added, client, prepared)("document.title") == "T"


def test_a_document_without_preparation_denies_and_runs_nothing(
    browser: Browser, page: Page, client: GuardClient, prepared: Prepared
) -> None:
    page.goto(URL)
    other = browser.new_page()
    for fake in ("", "(w) => ({ a: w, r: () => ({ v: x => x, end: x => x }) })", "{}", "() => { throw 1 }"):
        other.goto("about:blank")
        if fake:
            name = "__evalward_" + prepared.key.split(".")[1]
            other.evaluate(f"void (globalThis[{name!r}] = {fake})")

        assert (
            stopped(lambda: Sink(other, client, prepared)("document.title = 'ran'")) == "prototype-tampering"
        )

        assert other.title() == ""
    other.close()


def hardened(code: str, prepared: Prepared | None) -> str:
    """Return the program of a payload whatever the verdict on it is."""
    from evalward.guard.harden import Hardened, harden_payload  # noqa: PLC0415 - only these tests emit by themselves

    prefix = new_prefix()
    made = harden_payload(code.encode(), target=Target.RENDERER, shape=Shape.EXPRESSION, prefix=prefix)
    assert isinstance(made, Hardened)
    if prepared is None:
        return made.text.decode()
    verdict = Verdict(
        None, Target.RENDERER, Shape.EXPRESSION, "balanced", "", 0,  # type: ignore[arg-type]
        hardened=HardenedProgram(made.text, made.runtime, prefix),
    )  # fmt: skip
    program = for_prepared(verdict, prepared.key).hardened
    assert program is not None
    return program.text.decode()


@pytest.mark.parametrize("is_short", [True, False])
def test_a_payload_that_finds_the_property_gets_nothing(
    page: Page, prepared: Prepared, *, is_short: bool
) -> None:
    page.goto("data:text/html,")
    found = page.evaluate(hardened(LOOKS, prepared if is_short else None))
    assert found == ["TypeError"] * 4
    assert page.evaluate(LOOKS) == found  # nor does the page


@pytest.mark.parametrize(
    "code",
    [
        "window['__evalward_' + 1] = 2",
        "__evalward_1 = 2",
        "Object.defineProperty(window, '__evalward_1', { value: 2 })",
        "Reflect.set(window, '__evalward_1', 2)",
        "Object.assign(window, { __evalward_1: 2 })",
        "window.__defineGetter__('__evalward_1', () => 2)",
    ],
)
@pytest.mark.parametrize("is_short", [True, False])
def test_no_payload_makes_a_global_that_is_taken_for_a_run_time(
    page: Page, prepared: Prepared, code: str, *, is_short: bool
) -> None:
    page.goto("data:text/html,")
    with pytest.raises(Exception, match="evalward denied prototype-tampering"):
        page.evaluate(hardened(code, prepared if is_short else None))
    assert page.evaluate("typeof __evalward_1") == "undefined"


def test_the_secret_is_in_nothing_that_a_page_can_read(page: Page, prepared: Prepared) -> None:
    page.goto("data:text/html,")
    _, name, secret = prepared.key.split(".")
    shown = page.evaluate(
        f"String(__evalward_{name}) + JSON.stringify(Object.getOwnPropertyDescriptors(__evalward_{name}))"
    )
    assert secret[:32] not in shown
    assert secret[32:] not in shown


def test_a_denial_names_the_line_of_the_payload(page: Page, prepared: Prepared) -> None:
    page.goto("data:text/html,")
    code = "(() => {\n  const f = () => 1;\n  return f.constructor('x');\n})()"
    text = hardened(code, prepared)
    assert page.evaluate(f"(() => {{ try {{ return {text} }} catch (e) {{ return e.line }} }})()") == 3


def test_the_key_is_in_no_log_and_no_envelope(
    guard: Any, page: Page, client: GuardClient, prepared: Prepared
) -> None:
    page.goto(URL)
    assert Sink(page, client, prepared)("document.title") == "T"
    _, name, secret = prepared.key.split(".")
    answer = client.validate(b"document.title", sink="playwright.evaluate", prepared=prepared.key)
    refused = client.validate(b"1", sink="playwright.evaluate", prepared=prepared.key + "x")
    seen = guard.log.read_text() + str(answer.envelope) + str(refused.envelope) + repr(prepared)
    assert refused.code == "INVALID_INPUT"
    assert not any(part in seen for part in (name, secret[:32], secret[32:]))


def test_the_example_of_the_page_runs_as_printed(
    page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    text = (Path(__file__).parents[4] / "docs" / "how-to" / "run-hardened-programs.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (block,) = [each for each in blocks if "prepare(page" in each]
    exec(compile(block, "page", "exec"), {"page": page})


def test_a_page_of_the_asynchronous_api(guard: Any) -> None:
    async def run() -> str:
        async with AsyncGuardClient(guard.address, timeout=30) as client, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
            page = await browser.new_page()
            prepared = await prepare(page, client)
            await page.goto("data:text/html,<title>A</title>")

            async def evaluate(text: str) -> Any:
                assert len(text) < 4096
                return await page.evaluate(text)

            sink = guarded(evaluate, client, sink="playwright.evaluate", harden=True, prepared=prepared)
            title = await sink("document.title")
            await browser.close()
            return str(title)

    # In a thread of its own: the synchronous API has a loop in this one.
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lambda: asyncio.run(run())).result() == "A"


CALLERS: Final = {
    "expression": "(function f() { return f.caller })()",
    "pattern": "(() => { const f = function () { const { caller } = f; return caller }; return f() })()",
    "callee": "(function () { return arguments.callee.caller })()",
    "assignment": "(function f() { return f.caller += '' })()",
}


@pytest.mark.parametrize("code", CALLERS.values(), ids=CALLERS)
def test_no_function_shows_the_head_with_the_key(page: Page, prepared: Prepared, code: str) -> None:
    page.goto(URL)
    text = page.evaluate(hardened(f"String({code})", prepared))
    assert "__evalward_" not in text
    assert len(text) < 2000
