"""Sessions of a real ``evalward mcp`` around a real server process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from recorded_session import MANIFEST, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Callable[..., Recorded]]:
    """Return a function that starts a session; every one is ended."""
    begun: list[Recorded] = []

    def start(*options: str, **more: Any) -> Recorded:
        folder = tmp_path / str(len(begun))
        folder.mkdir()
        begun.append(Recorded(folder, *options, **more))
        return begun[-1]

    yield start
    for session in begun:
        session.kill()


@pytest.fixture
def guarded(recorded: Callable[..., Recorded]) -> Recorded:
    """Return a session under the test's manifest, with the page as the only target."""
    return recorded(f"--manifest={MANIFEST}", "--allow-eval=renderer").begin()
