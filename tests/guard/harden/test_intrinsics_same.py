"""Programs that use each family of intrinsics do the same when they are hardened."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
import yaml

from evalward.guard.harden import Hardened, harden_payload
from evalward.guard.target import Shape, Target

_HERE: Final = Path(__file__).parent
_PROGRAMS: Final[dict[str, list[str]]] = yaml.safe_load(
    (_HERE / "intrinsics_same.yaml").read_text(encoding="utf-8")
)
_FRAME: Final = {Shape.EXPRESSION: "({})", Shape.ASYNC_BODY: "(async () => {{ {} \n}})()"}


def _hardened(code: str, target: Target, shape: Shape) -> str:
    result = harden_payload(code.encode(), target=target, shape=shape, prefix="h0123456789abcdef")
    assert isinstance(result, Hardened), (code, result)
    return result.text.decode("ascii")


@pytest.mark.parametrize("target", [Target.MAIN, pytest.param(Target.SANDBOX, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("shape", [Shape.EXPRESSION, Shape.ASYNC_BODY])
def test_results_are_the_same(target: Target, shape: Shape) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    codes = _PROGRAMS[shape.value]
    frame = _FRAME[shape].format
    pairs = [{"plain": frame(code), "hard": frame(_hardened(code, target, shape))} for code in codes]
    run = subprocess.run(
        [node, str(_HERE / "intrinsics_same.js")],
        input=json.dumps(pairs),
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    results = json.loads(run.stdout)

    assert len(results) == len(codes) > 20
    different = [
        (code, *each.values())
        for code, each in zip(codes, results, strict=True)
        if each["plain"] != each["hard"]
    ]
    assert different == []
