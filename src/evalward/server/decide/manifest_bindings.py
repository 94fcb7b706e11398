"""Check at the start that the policy accepts the bindings of every tool in the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalward.errors import CodedError
from evalward.policy.issues import Issue
from evalward.tools import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evalward.guard.target import Target
    from evalward.policy import Policy
    from evalward.tools import Tool


def check_bindings(tool: Tool, policy: Policy) -> None:
    """Raise ManifestError for bindings of ``tool`` that ``policy`` rejects: every call of it would fail."""
    for field_name, target, bindings in _bindings_of(tool):
        try:
            policy.rules_for(target, bindings=bindings)
        except CodedError as refusal:
            raise ManifestError(
                "manifest",
                [Issue(f"tool {tool.name}: {field_name}", refusal.message, "what the policy binds")],
            ) from None


def _bindings_of(tool: Tool) -> Iterator[tuple[str, Target, Mapping[str, str]]]:
    if tool.target is not None:
        yield "bindings", tool.target, tool.bindings
    for name, rule in tool.fields.items():
        target = rule.realm or tool.target
        if rule.bindings is not None and target is not None:
            yield f"fields.{name}.bindings", target, rule.bindings
