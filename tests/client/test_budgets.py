"""The clients' timeouts: 2 s to connect, and on a ready connection those of contract.md §7."""

import inspect

import pytest

from evalward.client import AsyncGuardClient, GuardClient
from evalward.client.question import Questions


def asked(method: str, code: bytes, **more: object) -> float:
    """Return the seconds that a question about ``code`` gets."""
    about = {"target": "renderer", "shape": None, "bindings": None, "profile": None, "session_id": "", **more}
    if method == "evaluate":
        about = {"arg_json": None, "shape": None, "profile": None, "seed": None, "session_id": "", **more}
    return float(getattr(Questions(), method)(code, **about).seconds)


@pytest.mark.parametrize(("size", "seconds"), [(1, 0.25), (128 * 1024, 0.25), (1024 * 1024, 2.0)])
def test_a_verdict_has_250_ms_and_more_beyond_the_default_limit(size: int, seconds: float) -> None:
    assert asked("validate", b" " * size) == seconds


@pytest.mark.parametrize(("limits", "seconds"), [({"deadline_ms": 3_000}, 3.25), (None, 1.25)])
def test_an_evaluation_has_its_limit_and_250_ms(limits: dict[str, int] | None, seconds: float) -> None:
    assert asked("evaluate", b"1", limits=limits) == seconds


@pytest.mark.parametrize("client", [GuardClient, AsyncGuardClient])
def test_a_connection_has_two_seconds_of_its_own(client: type) -> None:
    parameters = inspect.signature(client).parameters

    assert parameters["connect_timeout"].default == 2.0
    assert parameters["timeout"].default == 0.25
