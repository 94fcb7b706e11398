"""The diagram of layers in docs/architecture.md shows the contracts that CI checks."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    contract["containers"][0].removeprefix("evalward").replace(".", "/").strip("/"): contract["layers"]
    for contract in tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    if contract["type"] == "layers"
}
_DIAGRAM = re.compile(r"^## Layers$.*?^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RIGHT = 47  # where the right column begins


def drawn() -> dict[str, list[str]]:
    """Return the rows below each heading of the diagram."""
    diagram = _DIAGRAM.search(ROOT.joinpath("docs", "architecture.md").read_text("utf-8"))
    assert diagram is not None
    found: dict[str, list[str]] = {}
    for line in columns(diagram[1].splitlines()):
        text = re.split(r"\s{3,}", line.strip())[0]  # a remark may follow
        if text.startswith(("packages", "inside ")):
            rows = found[text.removeprefix("packages").removeprefix("inside ")] = []
        elif line.startswith("  "):
            rows[-1] += f" {text}"
        elif text and not text.startswith("─"):
            rows.append(text)
    return {heading: [row.replace("│", "|") for row in rows] for heading, rows in found.items()}


def columns(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield line[1:_RIGHT].rstrip()
    for line in lines:
        yield line[_RIGHT:].rstrip()


@pytest.mark.parametrize("container", sorted(CONTRACTS))
def test_the_diagram_shows_the_contract(container: str) -> None:
    layers = [layer for layer in CONTRACTS[container] if layer != "__main__"]

    assert drawn()[container] == layers


def test_every_drawn_stack_has_a_contract() -> None:
    assert sorted(drawn()) == sorted(CONTRACTS)
