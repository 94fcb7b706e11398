"""Denied payloads are kept if the caller asks for it: in private files, once each, up to a maximum."""

import json
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from evalward.client import Decision, Triage

PAYLOAD = b"process['ex' + 'it'](0)"
NAME = sha256(PAYLOAD).hexdigest()
DENIED = Decision(allowed=False, code="EVAL_BLOCKED_CONSTRUCT", envelope={"ok": False}, decision_id="d")


def test_a_denied_payload_is_kept_with_its_envelope_for_its_owner_alone(tmp_path: Path) -> None:
    triage = Triage(tmp_path / "kept")

    assert triage.keep(PAYLOAD, DENIED)
    assert not triage.keep(PAYLOAD, DENIED)

    files = sorted((tmp_path / "kept").iterdir())
    assert [each.name for each in files] == [f"{NAME}.js", f"{NAME}.json"]
    assert files[0].read_bytes() == PAYLOAD
    assert json.loads(files[1].read_bytes()) == {"ok": False}
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


def test_what_was_allowed_or_never_judged_is_not_kept(tmp_path: Path) -> None:
    triage = Triage(tmp_path / "kept")

    assert not triage.keep(PAYLOAD, Decision(allowed=True, code=None, envelope={"ok": True}, decision_id="d"))
    assert not triage.keep(PAYLOAD, Decision(allowed=False, code="UNAVAILABLE", envelope={"ok": False}))
    assert not list(triage.folder.iterdir())


def test_no_more_are_kept_than_there_is_room_for(tmp_path: Path) -> None:
    triage = Triage(tmp_path / "kept", most=2)

    assert [triage.keep(b"%d" % number, DENIED) for number in range(4)] == [True, True, False, False]


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.joinpath("open").mkdir(mode=0o755)

    with pytest.raises(ValueError, match="0700"):
        Triage(tmp_path / "open")


def test_what_cannot_be_kept_costs_nothing_and_follows_no_link(tmp_path: Path) -> None:
    triage = Triage(tmp_path / "kept")
    (triage.folder / f"{NAME}.js").symlink_to(tmp_path / "elsewhere")

    assert not triage.keep(PAYLOAD, DENIED)
    assert not (tmp_path / "elsewhere").exists()

    for each in triage.folder.iterdir():
        each.unlink()
    triage.folder.rmdir()
    assert not triage.keep(PAYLOAD, DENIED)
