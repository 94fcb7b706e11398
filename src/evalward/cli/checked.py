"""Payloads with their verdicts, and what ``evalward check`` prints for programs: JSON Lines."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalward.errors import Code, canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalward.cli.fix_preview import Fix
    from evalward.cli.payload_files import Payload
    from evalward.guard.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Checked:
    """A payload, its verdict, the envelope that a caller would get, and the preview of a fix, if there is one."""

    payload: Payload
    verdict: Verdict
    envelope: dict[str, Any]
    fix: Fix | None = None


def print_json_lines(found: Iterable[Checked], *, fixes: bool) -> None:
    """Print one canonical JSON object for each payload: ``file``, ``field`` (null, or its place), ``verdict``.

    With ``fixes`` there is also ``fix``, null where there is no rewrite.
    """
    for each in found:
        line = {"file": each.payload.file, "field": each.payload.field, "verdict": each.envelope}
        if fixes:
            line["fix"] = None if each.fix is None else each.fix.to_json(each.payload.name)
        sys.stdout.buffer.write(canonical_json(line) + b"\n")
    sys.stdout.flush()


def exit_code_of(found: Iterable[Checked], *, blocked: int, failed: int) -> int:
    """Return 0 if everything is allowed, ``failed`` if the guard itself failed on a payload, else ``blocked``."""
    codes = {each.verdict.code for each in found}
    if Code.INTERNAL in codes:
        return failed
    return 0 if codes <= {None} else blocked
