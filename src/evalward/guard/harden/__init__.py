"""Hardened output: from a payload to a program that does the same without a denied capability (docs/design/harden.md).

Input: a payload, the realm and shape or sink it is for, and a random prefix. Output: P', or a reason why there is none.
P' is printed from the tree, never copied from the payload.
"""

from __future__ import annotations

from evalward.guard.harden.harden import harden_payload
from evalward.guard.harden.outcome import Hardened, NotHardenable

__all__ = ["Hardened", "NotHardenable", "harden_payload"]
