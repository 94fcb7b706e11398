"""The controls that the operator has weakened, in the policy or in the settings (service.md, Audit log)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.policy import utc_day
from evalward.policy.weakenings import weakened_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evalward.policy import Policy
    from evalward.server.settings import Settings

EVERYBODY = 0o007


def weakened_controls(policy: Policy, settings: Settings) -> tuple[str, ...]:
    """Return the name of every control that is weaker than its default."""
    return (*weakened_by(policy, today=utc_day()), *_settings(settings))


def _settings(settings: Settings) -> Iterator[str]:
    if settings.insecure_remote:
        yield "insecure-remote"
    if settings.unix_mode & EVERYBODY:
        yield f"unix-mode={settings.unix_mode:04o}"
    if settings.share_port:
        yield "share-port"
    if not settings.workers:
        yield "workers=0"
    if settings.reflection:
        yield "reflection"
    if settings.errors_verbose:
        yield f"errors-verbose={settings.errors_verbose}"
