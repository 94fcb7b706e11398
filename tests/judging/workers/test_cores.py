"""``--workers auto``: the CPU quota of the control group, versions 1 and 2."""

import os
from pathlib import Path

import pytest

from evalward.judging.workers.cores import available_cores

MANY = set(range(64))


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "max 100000\n"}, 64),
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "10000 100000\n"}, 1),
        ("0::/\n", {}, 64),
        ("0::/\n", {"cpu.max": "nonsense"}, 64),
        ("0::/\n", {"cpu.max": "5 0\n"}, 64),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),
        ("0::/a/b\n", {"a/cpu.max": "800000 100000\n", "a/b/cpu.max": "500000 100000\n"}, 5),
        ("0::/../other\n", {"cpu.max": "400000 100000\n"}, 4),
        (
            "4:memory:/\n3:cpu,cpuacct:/pod\n",
            {"cpu,cpuacct/pod/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/pod/cpu.cfs_period_us": "100000\n"},
            3,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ("2:cpuset:/\n", {"cpuset/cpu.cfs_quota_us": "1\n"}, 64),
    ],
)
def test_the_tightest_quota_counts(
    membership: str, files: dict[str, str], cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: MANY, raising=False)
    write(tmp_path / "proc/self/cgroup", membership)
    for name, text in files.items():
        write(tmp_path / "sys/fs/cgroup" / name, text)

    assert available_cores(tmp_path) == cores


def test_the_affinity_mask_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5, 7}, raising=False)

    assert available_cores(tmp_path) == 3


def test_on_this_machine_there_is_at_least_one() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
