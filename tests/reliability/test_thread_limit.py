"""Under a thread limit a server answers again after an attack, or has exited with a reason."""

from pathlib import Path

import pytest
from thread_limit import DEPLOYED, limited, run


@pytest.mark.parametrize(("threads", "starts"), [(DEPLOYED, True), (150, False)])
def test_a_limit_on_threads_leaves_no_server_that_answers_nobody(
    threads: int, *, starts: bool, tmp_path: Path
) -> None:
    under = limited(threads, tmp_path)
    if under is None:
        pytest.skip("no limit on threads can be set here: neither root nor user namespaces")

    figures = run(tmp_path, under, threads=threads, seconds=1)

    assert figures.passed, figures
    assert (figures.ended is None) is starts
    # Not one thread is made for a call.
    assert figures.threads_at_most - figures.threads_at_start <= 16
