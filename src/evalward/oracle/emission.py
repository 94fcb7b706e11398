"""The emitter as the oracle sees it: a payload goes in, P' or the reason against it comes out (harden.md §2)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evalward.guard.harden import Hardened, harden_payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.target import Shape, Target


@dataclass(frozen=True, slots=True)
class Emission:
    """P' of one payload in one shape, or, where ``text`` is None, why there is none.

    ``refused`` is the reason, ``construct`` the label where the payload does what is denied.
    """

    text: str | None
    refused: str = ""
    construct: str | None = None


class Emit(Protocol):
    """Emits the P' of a payload; never raises for a payload."""

    def __call__(
        self, code: str, target: Target, shape: Shape, bindings: Mapping[str, str] | None = None
    ) -> Emission:
        """Return P' or the reason against it."""


def emit(code: str, target: Target, shape: Shape, bindings: Mapping[str, str] | None = None) -> Emission:
    """Emit with the product's own emitter and a fresh prefix."""
    result = harden_payload(
        code.encode("utf-8", "surrogatepass"),
        target=target,
        shape=shape,
        prefix=f"h{secrets.token_hex(10)}",
        bindings=bindings or {},
    )
    if isinstance(result, Hardened):
        return Emission(result.text.decode("ascii"))
    return Emission(None, result.reason, result.construct)
