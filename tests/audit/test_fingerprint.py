import hashlib
import hmac
import os
import stat
from pathlib import Path

import pytest

from evalward.audit import AuditKey, load_key
from evalward.audit.fingerprint import FNV_MOST_BYTES, fingerprint, fnv1a
from evalward.errors import CodedError

KEY = AuditKey(bytes(range(32)))
DIGEST = hashlib.sha256(b"code").hexdigest()


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", "811c9dc5"), (b"a", "e40c292c"), (b"foobar", "bf9cf968")],
)
def test_fnv1a_gives_the_published_vectors(data: bytes, expected: str) -> None:
    assert fnv1a(data) == expected


def test_a_payload_is_named_by_its_sha256_without_a_key() -> None:
    assert fingerprint(DIGEST, b"code", key=None) == ("sha256", DIGEST, None)


def test_a_payload_is_named_by_a_keyed_hash_with_one() -> None:
    named = fingerprint(DIGEST, b"code", key=KEY, fnv1a32=True)
    derived = hmac.digest(bytes(range(32)), b"evalward audit payload hash", "sha256")
    assert named.hash_alg == f"hmac-sha256:{KEY.id}"
    assert named.code_hash == hmac.digest(derived, bytes.fromhex(DIGEST), "sha256").hex()
    assert named.fnv1a32 == fnv1a(b"code")


def test_a_payload_above_the_limit_of_fnv1a_gets_none() -> None:
    assert fingerprint(DIGEST, b"c" * FNV_MOST_BYTES, key=None, fnv1a32=True).fnv1a32 is not None
    assert fingerprint(DIGEST, b"c" * (FNV_MOST_BYTES + 1), key=None, fnv1a32=True).fnv1a32 is None


def test_the_id_tells_keys_apart_and_nothing_of_the_key() -> None:
    assert KEY.id != AuditKey(b"k" * 32).id
    assert KEY.id not in bytes(range(32)).hex()


def key_file(path: Path, contents: bytes = b"k" * 32, mode: int = 0o600) -> Path:
    path.write_bytes(contents)
    path.chmod(mode)
    return path


def test_a_key_is_read_from_a_private_file(tmp_path: Path) -> None:
    assert load_key(key_file(tmp_path / "key")).id == AuditKey(b"k" * 32).id
    assert load_key(key_file(tmp_path / "read", mode=0o400)).id == AuditKey(b"k" * 32).id


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_key_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path / "key", mode=mode)
    with pytest.raises(CodedError, match="0600"):
        load_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(key_file(tmp_path / "key"))
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (
        key_file(tmp_path / "short", b"k" * 31),
        link,
        tmp_path / "pipe",
        tmp_path / "missing",
        tmp_path,
    ):
        with pytest.raises(CodedError, match="key"):
            load_key(path)
