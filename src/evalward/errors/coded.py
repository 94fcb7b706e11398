"""An exception that carries a registered code, so that no caller matches on its message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.errors.envelope import error_envelope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalward.errors.canonical import JsonValue
    from evalward.errors.envelope import Meta
    from evalward.errors.self_repair import Repair


class CodedError(Exception):
    """A failure with a code of the registry or of a plugin.

    ``details``, ``repair`` and ``similar_refs`` end up in its envelope. ``retryable`` overrides the value of a plugin
    code's row; None keeps it.
    """

    def __init__(  # noqa: PLR0913 - one parameter per key of the envelope
        self,
        code: str,
        message: str,
        *,
        details: Mapping[str, object] | None = None,
        repair: Repair | None = None,
        similar_refs: Sequence[str] = (),
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details or {})
        self.repair = repair
        self.similar_refs = tuple(similar_refs)
        self.retryable = retryable

    def envelope(self, meta: Meta, **details: object) -> dict[str, JsonValue]:
        """Return the error envelope of this failure, with more ``details``."""
        return error_envelope(
            self.code,
            self.message,
            meta=meta,
            similar_refs=self.similar_refs,
            details={**self.details, **details},
            repair=self.repair,
            retryable=self.retryable,
        )
