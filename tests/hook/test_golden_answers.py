"""Each product's input and the exact answer to it, in golden/: NAME.input.json and NAME.output.json.

Ids, times and versions in an envelope are left out, and a program is a placeholder. After a change that is meant, run
``EVALWARD_GOLDEN=write pytest tests/hook/test_golden_answers.py`` and read the difference.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hook_service import Hooks

GOLDEN = Path(__file__).with_name("golden")
INPUTS = sorted(GOLDEN.glob("*/*.input.json"))
PROGRAM = "(program)"


def normal(value: Any) -> Any:
    """Return an answer without what differs between runs."""
    if isinstance(value, dict):
        return {key: normal(each) for key, each in value.items() if key != "_meta"}
    if isinstance(value, list):
        return [normal(each) for each in value]
    if isinstance(value, str) and len(value) > 10_000:
        return PROGRAM
    if isinstance(value, str) and "\n\n{" in value:
        head, _, envelope = value.partition("\n\n")
        return [head, normal(json.loads(envelope))]
    return value


def ids(path: Path) -> str:
    return f"{path.parent.name}-{path.name.removesuffix('.input.json')}"


@pytest.mark.parametrize("path", INPUTS, ids=ids)
def test_the_answer_is_the_golden_one(path: Path, hooks: Hooks) -> None:
    answer = hooks.answer(path.parent.name, path.read_bytes())

    shown = normal(json.loads(answer.stdout)) if answer.stdout else None
    output = path.with_name(path.name.replace(".input.", ".output."))
    if os.environ.get("EVALWARD_GOLDEN") == "write":
        output.write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    assert answer.exit_code == 0
    assert shown == json.loads(output.read_text("utf-8"))


def test_each_output_has_an_input() -> None:
    outputs = {
        ids(path.with_name(path.name.replace(".output.", ".input.")))
        for path in GOLDEN.glob("*/*.output.json")
    }

    assert outputs == {ids(path) for path in INPUTS}
