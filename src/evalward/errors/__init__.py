"""The registry of codes and the envelope that carries them (contract.md §1, §2)."""

from evalward.errors.canonical import JsonValue, NotJsonError, canonical_json
from evalward.errors.coded import CodedError
from evalward.errors.envelope import (
    Meta,
    Provenance,
    Repair,
    error_envelope,
    estimate_tokens,
    success_envelope,
)
from evalward.errors.registry import REGISTRY, Category, Cause, Code, ErrorRow
from evalward.errors.verdict_envelope import verdict_envelope, would_block, would_block_names

__all__ = [
    "REGISTRY",
    "Category",
    "Cause",
    "Code",
    "CodedError",
    "ErrorRow",
    "JsonValue",
    "Meta",
    "NotJsonError",
    "Provenance",
    "Repair",
    "canonical_json",
    "error_envelope",
    "estimate_tokens",
    "success_envelope",
    "verdict_envelope",
    "would_block",
    "would_block_names",
]
