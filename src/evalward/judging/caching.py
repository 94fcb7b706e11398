"""An executor with a verdict cache in front: a cached verdict needs no place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Executor, Job, Load, PendingVerdict
    from evalward.judging.verdict_cache import Key, VerdictCache


class CachingExecutor:
    """Passes jobs that ``verdicts`` does not contain to ``executor``. A job that raises is not cached."""

    def __init__(self, executor: Executor, verdicts: VerdictCache) -> None:
        self._executor = executor
        self._verdicts = verdicts

    def submit(self, job: Job, *, patience: float | None) -> Verdict:
        """Return the verdict on ``job``, or raise Overloaded."""
        key = self._key(job)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._executor.submit(job, patience=patience)
            self._verdicts.put(key, verdict)
        return verdict

    def begin(self, jobs: Sequence[Job], *, patience: float | None) -> Sequence[PendingVerdict]:
        """Start to judge the ``jobs`` without a cached verdict."""
        found = [(job, key, self._verdicts.get(key)) for job in jobs for key in (self._key(job),)]
        new = [job for job, _, known in found if known is None]
        begun = iter(self._executor.begin(new, patience=patience) if new else ())
        return [
            partial(self._remembered, key, next(begun)) if known is None else partial(_known, known)
            for _, key, known in found
        ]

    def _remembered(self, key: Key, begun: PendingVerdict) -> Verdict | None:
        verdict = begun()
        if verdict is not None:
            self._verdicts.put(key, verdict)
        return verdict

    def _key(self, job: Job) -> Key:
        return self._verdicts.key(
            job.payload,
            target=job.target,
            shape=job.shape,
            rules=job.rules,
            shape_from_text=job.shape_from_text,
            sink=job.sink,
            harden=job.harden,
        )

    def load(self) -> Load:
        """Return the load of the inner executor."""
        return self._executor.load()

    def close(self) -> None:
        """Close the inner executor."""
        self._executor.close()


def _known(verdict: Verdict) -> Verdict:
    return verdict
