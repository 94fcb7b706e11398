"""A page that has the run-time before its scripts run: ``prepare`` puts it there, ``guarded`` sends its key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from evalward.client.aio import AsyncGuardClient

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from evalward.client.preparation import Preparation
    from evalward.client.sync import GuardClient


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared page, for ``guarded(..., prepared=)``. ``key`` is a secret; ``version`` is that of the run-time."""

    version: str
    key: str = field(repr=False)


class PrepareFailed(Exception):  # noqa: N818 - the guard's answer
    """The guard gave nothing to prepare a page with, and the page is as it was. ``envelope`` says why."""

    def __init__(self, reply: Preparation) -> None:
        message = str(reply.envelope.get("error", ""))
        if reply.is_unknown:
            message = "The service is older than this client and cannot prepare pages."
        super().__init__(f"The page is not prepared ({reply.code}): {message}")
        self.code = reply.code
        self.envelope = reply.envelope


@overload
def prepare(page: Any, guard: AsyncGuardClient) -> Coroutine[Any, Any, Prepared]: ...


@overload
def prepare(page: Any, guard: GuardClient) -> Prepared: ...


def prepare(page: Any, guard: GuardClient | AsyncGuardClient) -> Prepared | Coroutine[Any, Any, Prepared]:
    """Put the run-time of hardened programs into ``page``, a page or a browser context of Playwright.

    Every later document, and every frame in it, has the run-time before its scripts run; so has what is open now. A
    program made with the result, ``guarded(..., prepared=)``, is small and runs only there. Prepare a page before it
    opens anything: what a page has changed before is found, and then every program is denied. A page of the async API
    needs an AsyncGuardClient, and is awaited. Raises PrepareFailed when the guard gives no answer.
    """
    if isinstance(guard, AsyncGuardClient):
        return _prepare_async(page, guard)
    reply = guard.prepare_runtime()
    prepared = _of(reply)
    page.add_init_script(script=reply.script)
    for frame in _frames(page):
        frame.evaluate(reply.script)
    return prepared


async def _prepare_async(page: Any, guard: AsyncGuardClient) -> Prepared:
    reply = await guard.prepare_runtime()
    prepared = _of(reply)
    await page.add_init_script(script=reply.script)
    for frame in _frames(page):
        await frame.evaluate(reply.script)
    return prepared


def _of(reply: Preparation) -> Prepared:
    if reply.code is not None:
        raise PrepareFailed(reply)
    return Prepared(reply.version, reply.key)


def _frames(page: Any) -> list[Any]:
    """Return the frames that are open now, of a page or of all pages of a context."""
    pages = page.pages if hasattr(page, "pages") else [page]
    return [frame for each in pages for frame in each.frames]
