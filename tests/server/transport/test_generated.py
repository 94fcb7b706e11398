"""The generated code is current, and runs on the oldest versions that the package allows."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from evalward.v1 import evalward_pb2, evalward_pb2_grpc

ROOT = Path(__file__).parents[3]
FILES = (
    "v1/evalward_pb2.py",
    "v1/evalward_pb2.pyi",
    "v1/evalward_pb2_grpc.py",
    "v1/evalward_pb2_grpc.pyi",
    "gateways/v1/ext_mcp_pb2.py",
    "gateways/v1/ext_mcp_pb2.pyi",
    "gateways/v1/ext_proc_pb2.py",
    "gateways/v1/ext_proc_pb2.pyi",
)
# Lines that differ between versions of the generator for the same .proto.
VERSIONED = re.compile(
    r"^# Protobuf Python Version: .*$|^    \d+,$|^GRPC_GENERATED_VERSION = .*$|\(object\)(?=:$)", re.MULTILINE
)


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated")
    runpy.run_path(str(ROOT / "proto" / "generate.py"))["generate"](out)
    return out / "evalward"


@pytest.mark.parametrize("name", FILES)
def test_checked_in_code_is_what_the_proto_gives(name: str, regenerated: Path) -> None:
    checked_in = (ROOT / "src" / "evalward" / name).read_text()

    assert VERSIONED.sub("", checked_in) == VERSIONED.sub("", (regenerated / name).read_text())


def test_generated_code_needs_no_newer_packages_than_the_lower_bounds() -> None:
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    bounds = dict(re.findall(r"^([\w-]+)>=([\d.]+)", "\n".join(dependencies), re.MULTILINE))
    source = Path(evalward_pb2.__file__).read_text()
    protobuf = re.search(r"# Protobuf Python Version: ([\d.]+)", source)

    assert protobuf is not None
    assert _version(protobuf.group(1)) <= _version(bounds["protobuf"])
    assert _version(evalward_pb2_grpc.GRPC_GENERATED_VERSION) <= _version(bounds["grpcio"])


def test_every_enum_begins_with_an_unspecified_zero() -> None:
    enums = evalward_pb2.DESCRIPTOR.enum_types_by_name.values()

    assert enums
    assert all(enum.values_by_number[0].name.endswith("_UNSPECIFIED") for enum in enums)


def test_each_rpc_is_documented_as_idempotent_or_not() -> None:
    proto = (ROOT / "proto" / "evalward" / "v1" / "evalward.proto").read_text()
    documented = {
        name: comment for comment, name in re.findall(r"((?:^  //.*\n)+)  rpc (\w+)\(", proto, re.MULTILINE)
    }
    service = evalward_pb2.DESCRIPTOR.services_by_name["GuardService"]

    assert {*documented} == {method.name for method in service.methods}
    assert [name for name, comment in documented.items() if "dempotent" not in comment] == []


def _version(text: str) -> list[int]:
    numbers = [*map(int, text.split("."))]
    return numbers + [0] * (3 - len(numbers))
