# ruff: noqa: INP001 - a script, not a package
"""Generate Python from the ``.proto`` files: ``python proto/generate.py [OUT]`` (default: ``src``).

The output is checked in, so that installing needs no compiler; ``tests/server/transport/test_generated.py`` proves it
current.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).parent
SOURCES = sorted(PROTO.rglob("*.proto"))
GRPC_INCLUDE = Path(protoc.__file__).parent / "_proto"


def generate(out: Path) -> None:
    """Write messages, service and type stubs below ``out``; raise RuntimeError when protoc fails."""
    out.mkdir(parents=True, exist_ok=True)
    _compile(SOURCES, f"--python_out={out}", f"--mypy_out=quiet:{out}")
    own = [source for source in SOURCES if "\nservice " in source.read_text("utf-8")]
    _compile(own, f"--grpc_python_out={out}", f"--mypy_grpc_out=quiet:{out}")


def _compile(sources: list[Path], *options: str) -> None:
    paths = (f"--proto_path={PROTO}", f"--proto_path={GRPC_INCLUDE}")
    status = protoc.main(["protoc", *paths, *options, *map(str, sources)])
    if status != 0:
        raise RuntimeError(f"protoc exited with status {status}")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else PROTO.parent / "src")
