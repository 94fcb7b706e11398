import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from evalward.cli.codes import codes
from evalward.errors import REGISTRY


@pytest.fixture
def app() -> typer.Typer:
    command = typer.Typer()
    command.command()(codes)
    return command


def test_json_is_the_registry(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["--json"])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["schema"] == {"errorCodes": 1}
    assert document["codes"] == [row.as_json() for row in REGISTRY.values()]
    assert all(row["symbol"] == row["code"] for row in document["codes"])


def test_text_names_every_code_and_number(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, [], env={"COLUMNS": "100"})
    assert done.exit_code == 0
    for row in REGISTRY.values():
        assert row.code in done.stdout
        assert str(row.number) in done.stdout


def test_the_page_of_codes_is_current(app: typer.Typer) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "codes.md"

    result = CliRunner().invoke(app, ["--markdown"])

    assert page.read_text(encoding="utf-8") == result.stdout
    assert all(f"## `{code}`" in result.stdout for code in REGISTRY)
