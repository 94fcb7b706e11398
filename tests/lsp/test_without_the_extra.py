"""``evalward lsp`` without its extra says how to install it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from evalward.cli.app import app

if TYPE_CHECKING:
    import pytest


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "evalward.lsp.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)

    done = CliRunner().invoke(app, ["lsp"])

    assert (done.exit_code, "evalward[lsp]" in done.stderr) == (3, True)
