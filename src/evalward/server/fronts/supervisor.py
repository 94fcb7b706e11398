"""The supervisor of fronts: start them, replace those that end, pass signals on, stop them together."""

from __future__ import annotations

import logging
import signal
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.server.fronts.front_process import FrontProcess

LOG = logging.getLogger("evalward.server")

SIGNALS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
PATIENCE_SECONDS: Final = 5.0
"""How long a front may take after its drain before it is killed."""
EXIT_SECONDS: Final = 1.0
"""How long a front that has closed its standard output may take to end."""
FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
SETTLED_SECONDS: Final = 30.0
"""A front that ran so long is replaced after the first delay again."""
IDLE_SECONDS: Final = 3600.0


class FrontFailedError(RuntimeError):
    """A front that does not start; its own message is on standard error."""


class Supervisor:
    """Runs ``fronts`` until SIGTERM or SIGINT. The signals of ``HELD`` must be blocked in every thread."""

    HELD: Final = SIGNALS | {signal.SIGCHLD}

    def __init__(self, fronts: Sequence[FrontProcess], *, drain_seconds: float) -> None:
        self._drain_seconds = drain_seconds
        self._watched = [_Watched(front) for front in fronts]

    def start(self) -> list[Mapping[str, Any]]:
        """Start the fronts and return their ready lines; raise FrontFailedError, after which none of them runs.

        The first one starts alone: what makes it fail, such as an invalid policy, is said once.
        """
        lines = []
        try:
            for watched in self._watched[:1]:
                watched.front.start()
                lines.append(_ready(watched.front))
            for watched in self._watched[1:]:
                watched.front.start()
            lines += [_ready(watched.front) for watched in self._watched[1:]]
        except (FrontFailedError, OSError):
            self._kill()
            raise
        for watched in self._watched:
            watched.started = time.monotonic()
        return lines

    def run(self) -> None:
        """Replace fronts that end, until SIGTERM or SIGINT."""
        while True:
            info = signal.sigtimedwait(self.HELD, self._seconds_to_next_start())
            if info is None or info.si_signo == signal.SIGCHLD:
                self._tend()
            elif info.si_signo == signal.SIGHUP:
                self._signal(signal.SIGHUP)
            else:
                return

    def stop(self) -> bool:
        """Drain all fronts; return whether each of them ended by itself, with exit code 0."""
        self._signal(signal.SIGTERM)
        end = time.monotonic() + self._drain_seconds + PATIENCE_SECONDS
        codes = [watched.front.wait(max(0.0, end - time.monotonic())) for watched in self._watched]
        self._kill()
        return all(code == 0 for code in codes)

    def _tend(self) -> None:
        """Notice fronts that have ended, and start those whose delay is over."""
        now = time.monotonic()
        for watched in self._watched:
            if watched.due is None and watched.front.exit_code is not None:
                watched.ended(now)
                LOG.error(
                    "front %d has ended (%s); the next one starts in %.1f s, the others go on",
                    watched.front.role.number,
                    _cause(watched.front.exit_code),
                    watched.delay,
                )
            elif watched.due is not None and now >= watched.due:
                watched.restart(now)

    def _seconds_to_next_start(self) -> float:
        due = [watched.due for watched in self._watched if watched.due is not None]
        return max(0.0, min(due) - time.monotonic()) if due else IDLE_SECONDS

    def _signal(self, number: int) -> None:
        for watched in self._watched:
            watched.front.signal(number)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)
        for watched in self._watched:
            watched.front.wait(PATIENCE_SECONDS)
            watched.front.close()


class _Watched:
    """A front, when it was started, and when it is due to be started again."""

    def __init__(self, front: FrontProcess) -> None:
        self.front = front
        self.started = 0.0
        self.due: float | None = None
        self.delay = FIRST_DELAY

    def ended(self, now: float) -> None:
        has_settled = now - self.started >= SETTLED_SECONDS
        self.delay = FIRST_DELAY if has_settled else min(2 * self.delay, LONGEST_DELAY)
        self.due = now + self.delay

    def restart(self, now: float) -> None:
        try:
            self.front.start()
        except OSError as failure:
            LOG.error("front %d cannot be started: %s", self.front.role.number, failure.strerror)  # noqa: TRY400 - the cause is in the text
            self.ended(now)
        else:
            self.started, self.due = now, None


def _ready(front: FrontProcess) -> Mapping[str, Any]:
    said = front.ready()
    if said is None:
        code = front.wait(EXIT_SECONDS)
        state = "does not become ready" if code is None else f"has ended ({_cause(code)})"
        raise FrontFailedError(f"front {front.role.number} {state}")
    return said


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}"
