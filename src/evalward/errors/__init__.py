"""The registry of codes and the envelope that carries them (contract.md §1, §2)."""

from evalward.codes import Code
from evalward.errors.allow_envelope import AllowEnvelope
from evalward.errors.canonical import JsonValue, NotJsonError, canonical_json
from evalward.errors.coded import CodedError
from evalward.errors.envelope import (
    Meta,
    Provenance,
    error_envelope,
    estimate_tokens,
    success_envelope,
)
from evalward.errors.plugins import (
    CodesRefusedError,
    Domain,
    UnknownSymbolError,
    define_domain,
    register_error_codes,
    unregister_error_codes,
)
from evalward.errors.registry import REGISTRY, Category, Cause, ErrorRow, row_of
from evalward.errors.run_time_denial import denied_construct, run_time_denial
from evalward.errors.self_repair import Range, Repair, pointer
from evalward.errors.verdict_envelope import (
    hardened_fields,
    program_json,
    verdict_envelope,
    would_block,
    would_block_names,
)

__all__ = [
    "REGISTRY",
    "AllowEnvelope",
    "Category",
    "Cause",
    "Code",
    "CodedError",
    "CodesRefusedError",
    "Domain",
    "ErrorRow",
    "JsonValue",
    "Meta",
    "NotJsonError",
    "Provenance",
    "Range",
    "Repair",
    "UnknownSymbolError",
    "canonical_json",
    "define_domain",
    "denied_construct",
    "error_envelope",
    "estimate_tokens",
    "hardened_fields",
    "pointer",
    "program_json",
    "register_error_codes",
    "row_of",
    "run_time_denial",
    "success_envelope",
    "unregister_error_codes",
    "verdict_envelope",
    "would_block",
    "would_block_names",
]
