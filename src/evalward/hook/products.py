"""The products with a hook, by the name that the command line and the listener's paths have."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from evalward.hook import claude_code, cursor, docker, vscode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.hook.call import Product

PRODUCTS: Final[Mapping[str, Product]] = MappingProxyType(
    {
        "claude-code": cast("Product", claude_code),
        "cursor": cast("Product", cursor),
        "vscode": cast("Product", vscode),
        "docker": cast("Product", docker),
    }
)
