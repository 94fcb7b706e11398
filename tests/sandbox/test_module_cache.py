"""The compiled-module cache is private, checked, and optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evalward.sandbox import Sandbox, cache

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(path))
    return path


def test_the_directory_is_made_private(directory: Path) -> None:
    assert directory == cache.cache_directory()
    assert directory.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_others_may_enter_is_not_used(directory: Path) -> None:
    directory.mkdir(mode=0o755)
    directory.chmod(0o755)
    assert cache.cache_directory() is None


def test_a_link_is_not_followed(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    assert cache.cache_directory() is None


def test_without_a_directory_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.CACHE_VARIABLE, "/proc/no/such/place")
    assert cache.cache_directory() is None


def test_an_entry_is_read_back_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    cache.store(tmp_path, "k", {"control": 5}, b"code")
    assert cache.load(tmp_path, "k") == ({"control": 5}, b"code")
    entry = tmp_path / "k.guest"
    whole = entry.read_bytes()
    for damaged in (
        whole[:-1],
        whole[:-1] + b"f",
        b"",
        b"{}\n",
        b"null\ncode",
        whole.replace(b"5", b'"x"', 1),
    ):
        entry.write_bytes(damaged)
        assert cache.load(tmp_path, "k") is None
    assert cache.load(tmp_path, "other") is None


def test_an_entry_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    cache.store(tmp_path, "k", {}, b"code")
    (tmp_path / "l.guest").symlink_to(tmp_path / "k.guest")
    assert cache.load(tmp_path, "l") is None


@pytest.mark.exhaustive
def test_an_entry_with_code_that_is_none_is_compiled_anew(directory: Path) -> None:
    first = Sandbox()
    first.warm_up()
    (entry,) = directory.glob("*.guest")
    loaded = cache.load(directory, entry.stem)
    assert loaded is not None
    cache.store(directory, entry.stem, loaded[0], b"not a compiled module")
    again = Sandbox()
    assert again.evaluate(b"1 + 1").result == b"2"
    healed = cache.load(directory, entry.stem)
    assert healed is not None
    assert len(healed[1]) > 1_000_000
    assert entry.stat().st_mode & 0o077 == 0


def test_old_entries_are_removed(tmp_path: Path) -> None:
    for number in range(12):
        cache.store(tmp_path, f"k{number}", {}, b"code")
    assert len(list(tmp_path.glob("*.guest"))) == 8
    assert cache.load(tmp_path, "k11") is not None
    assert cache.load(tmp_path, "k0") is None
