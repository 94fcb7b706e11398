"""An evaluation as an envelope, for ``evalward eval`` and the server (contract.md §2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.errors import Meta, Repair, error_envelope, hardened_fields, run_time_denial, success_envelope

if TYPE_CHECKING:
    from evalward.errors import JsonValue
    from evalward.guard.verdict import Verdict
    from evalward.sandbox.outcome import Evaluation


def evaluation_envelope(evaluation: Evaluation, verdict: Verdict, *, meta: Meta) -> dict[str, JsonValue]:
    """Return the envelope of ``evaluation``, whose payload ``verdict`` allowed.

    The result is JSON text (``result_json``; null for ``undefined``), so that no conversion can change it.
    """
    about: dict[str, Any] = {
        "target": verdict.target,
        "shape": evaluation.shape,
        "code_hash": verdict.code_hash,
        "code_length": verdict.code_length,
        **hardened_fields(verdict),
        "usage": {"fuel": evaluation.fuel, "memory_bytes": evaluation.memory},
        "console": [{"level": line.level, "text": line.text} for line in evaluation.console],
        "console_dropped": evaluation.console_dropped,
    }
    if evaluation.code is None:
        result = None if evaluation.result is None else evaluation.result.decode()
        return success_envelope({**about, "result_json": result}, meta=meta)
    if evaluation.construct is not None:
        return run_time_denial(evaluation.construct, meta=meta, details=about)
    if evaluation.error_name is not None:
        about["thrown"] = {"name": evaluation.error_name, "message": evaluation.message}
    repair = None
    if evaluation.limit is not None:
        repair = Repair.passed(*evaluation.limit)
    return error_envelope(evaluation.code, _message(evaluation), meta=meta, details=about, repair=repair)


def _message(evaluation: Evaluation) -> str:
    if evaluation.error_name is None:
        return f"{evaluation.code}: {evaluation.message}"
    return f"{evaluation.code}: the payload threw {evaluation.error_name}: {evaluation.message}".rstrip(": ")
