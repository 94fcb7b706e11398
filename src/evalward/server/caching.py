"""An executor that answers what it answered before: a repeated payload waits for no place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from evalward.guard.verdict import Verdict
    from evalward.server.executor import Executor, Job, Load
    from evalward.verdict_cache import Key, VerdictCache


class CachingExecutor:
    """Hands on to ``executor`` what ``verdicts`` does not hold. A job that raises leaves nothing behind."""

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

    def begin(self, job: Job, *, patience: float | None) -> Callable[[], Verdict] | None:
        """Begin to judge ``job``, unless its verdict is known."""
        key = self._key(job)
        known = self._verdicts.get(key)
        if known is not None:
            return lambda: known
        judged = self._executor.begin(job, patience=patience)
        if judged is None:
            return None

        def remembered() -> Verdict:
            verdict = judged()
            self._verdicts.put(key, verdict)
            return verdict

        return remembered

    def _key(self, job: Job) -> Key:
        return self._verdicts.key(
            job.payload,
            target=job.target,
            shape=job.shape,
            rules=job.rules,
            shape_from_text=job.shape_from_text,
        )

    def load(self) -> Load:
        """Return how busy the executor behind this one is."""
        return self._executor.load()

    def close(self) -> None:
        """Let go of what the executor behind this one holds."""
        self._executor.close()
