"""The envelope of a plain allow, built directly as canonical text: the fast path for most answers.

The parts that are constant under one policy, or for one target, shape and profile, are encoded once.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final

from evalward.errors.canonical import canonical_text, to_json
from evalward.errors.envelope import tokens_of
from evalward.errors.verdict_envelope import hardened_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.errors.envelope import Provenance
    from evalward.guard.verdict import Unhardened, Verdict

# Why there is no program, where the reason has no place: a few texts, but those of a failed emitter differ.
_KEPT_REASONS: Final = 64


class AllowEnvelope:
    """Fills in the envelopes of the plain allows of one provenance."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = canonical_text(provenance.as_json())
        self._frames: dict[tuple[str | None, ...], str] = {}
        self._reasons: dict[str, str] = {}

    def text(  # noqa: PLR0913 - one parameter per key
        self,
        verdict: Verdict,
        *,
        elapsed_ms: float,
        decision_id: str,
        audited: bool,
        session_id: str | None,
        item_index: int | None = None,
    ) -> str | None:
        """Return the canonical text of ``verdict_envelope``, None unless the verdict is a plain allow.

        Raise NotJsonError as it does.
        """
        if verdict.code is not None or verdict.shadow or verdict.withheld is not None:
            return None
        before = behind = ""
        if verdict.hardened is not None:
            before = _members(hardened_fields(verdict))
        elif verdict.unhardened is not None:
            behind = self._reason(verdict.unhardened, verdict)
        code_hash = verdict.code_hash
        # Other characters than letters and digits may need an escape.
        if not ((decision_id + code_hash).isalnum() and isfinite(elapsed_ms)):
            return None
        item = "" if item_index is None else f'"item_index":{item_index:d},'
        body = f'"code_hash":"{code_hash}","code_length":{verdict.code_length:d},{before}{item}{behind}'
        body += self._frame(verdict)
        session = "" if session_id is None else f',"session_id":{canonical_text(to_json(session_id))}'
        return (
            f'{{"_meta":{{"audited":{"true" if audited else "false"},"decision_id":"{decision_id}",'
            f'"elapsed_ms":{round(float(elapsed_ms), 3)!r},"estimated_tokens":{tokens_of(len(body) + 2)},'
            f'"provenance":{self._provenance}{session},"would_block":[]}},{body}}}'
        )

    def _reason(self, why: Unhardened, verdict: Verdict) -> str:
        if why.location is not None:
            return _members(hardened_fields(verdict))
        text = self._reasons.get(why.reason)
        if text is None:
            text = _members(hardened_fields(verdict))
            if len(self._reasons) < _KEPT_REASONS:
                self._reasons[why.reason] = text
        return text

    def _frame(self, verdict: Verdict) -> str:
        key = (verdict.target, verdict.shape, verdict.sink, verdict.profile)
        text = self._frames.get(key)
        if text is None:
            frame = {"ok": True, "profile": verdict.profile, "shape": verdict.shape, "target": verdict.target}
            if verdict.sink is not None:
                frame["sink"] = verdict.sink
            text = self._frames[key] = canonical_text(to_json(frame))[1:-1]
        return text


def _members(fields: Mapping[str, object]) -> str:
    """Return ``fields`` as members of an object, each with a comma."""
    return "".join(f'"{key}":{canonical_text(to_json(value))},' for key, value in fields.items())
