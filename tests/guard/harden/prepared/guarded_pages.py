"""The pages that these tests open, their guarded ``evaluate``, and programs without a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from evalward.client import EvalDenied, GuardClient, Prepared, guarded
from evalward.guard.harden import Hardened, harden_payload
from evalward.guard.target import Shape, Target
from evalward.guard.verdict import HardenedProgram, Verdict
from evalward.judging.hardening import new_prefix
from evalward.judging.preparing import for_prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Route

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


def answer(route: Route) -> None:
    """Fulfil a request with the patched page or the plain one."""
    body = PATCHES if route.request.url == PATCHED else PLAIN
    route.fulfill(content_type="text/html", body=body)


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


def hardened(code: str, prepared: Prepared | None, sink: str | None = None) -> str:
    """Return the program of an expression, or of what ``sink`` evaluates, whatever the verdict on it is."""
    prefix = new_prefix()
    shape = Shape.EXPRESSION if sink is None else None
    made = harden_payload(code.encode(), target=Target.RENDERER, shape=shape, prefix=prefix, sink=sink)
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
