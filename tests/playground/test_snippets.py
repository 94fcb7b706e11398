"""Each way to ask the question outside the page runs, and gives the verdict of the page."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.json_format import ParseDict
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from typer.testing import CliRunner

from evalward.cli.app import app
from evalward.corpus.corpus_case import CorpusError, case_of
from evalward.guard.target import Profile, Target
from evalward.playground.question import Question
from evalward.playground.snippets import case_text, snippets
from evalward.playground.verdict_view import verdict_view
from evalward.policy import Policy
from evalward.v1 import evalward_pb2 as pb
from evalward.v1 import evalward_pb2_grpc as rpc

if TYPE_CHECKING:
    from collections.abc import Iterator

NODE_CLIENT = Path(__file__).parents[2] / "clients" / "node"
START = Policy.default().allowing(Target)
ASKED: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("data").joinpath("questions.yaml").read_text("utf-8")
)
each_question = pytest.mark.parametrize("asked", ASKED, ids=[str(number) for number in range(len(ASKED))])


def question_of(asked: dict[str, Any]) -> Question:
    return Question.model_validate({name: value for name, value in asked.items() if name != "allowed"})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a service with reflection; return where it listens."""
    folder = tmp_path_factory.mktemp("service")
    command = [
        *(sys.executable, "-m", "evalward", "serve", "--listen", "127.0.0.1:0", "--reflection"),
        *(f"--allow-eval={','.join(Target)}", "--audit-log", str(folder / "audit.jsonl")),
    ]
    own = {name: value for name, value in os.environ.items() if not name.startswith("EVALWARD_")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own) as service:
        try:
            assert service.stdout is not None
            yield json.loads(service.stdout.readline())["listen"][0]
        finally:
            service.terminate()


@each_question
def test_the_page_gives_the_verdict(asked: dict[str, Any]) -> None:
    assert verdict_view(question_of(asked), START)["allowed"] is asked["allowed"]


@each_question
def test_the_command_line_gives_it(asked: dict[str, Any]) -> None:
    program, *words = shlex.split(snippets(question_of(asked))["evalward check"])

    done = CliRunner().invoke(app, [*words, "--format", "json"])

    assert program == "evalward"
    assert done.exit_code == (0 if asked["allowed"] else 1), done.stderr
    assert json.loads(done.stdout)["ok"] is asked["allowed"]


@each_question
def test_grpcurl_sends_a_request_that_the_service_answers_so(asked: dict[str, Any], address: str) -> None:
    program, plain, data, request, where, method = shlex.split(snippets(question_of(asked))["grpcurl"])

    with grpc.insecure_channel(address) as channel:
        reply = rpc.GuardServiceStub(channel).Validate(ParseDict(json.loads(request), pb.ValidateRequest()))

    assert (program, plain, data, where) == ("grpcurl", "-plaintext", "-d", "127.0.0.1:7443")
    assert method == "evalward.v1.GuardService/Validate"
    assert (reply.WhichOneof("outcome") == "allowed") is asked["allowed"]


def test_reflection_describes_the_method_that_grpcurl_names(address: str) -> None:
    service, _, method = shlex.split(snippets(question_of(ASKED[0]))["grpcurl"])[-1].partition("/")

    with grpc.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=service)
        (answer,) = stub.ServerReflectionInfo(iter([asked]))

    files = map(FileDescriptorProto.FromString, answer.file_descriptor_response.file_descriptor_proto)
    described = {f"{each.package}.{one.name}": one for each in files for one in each.service}
    assert method in {one.name for one in described[service].method}


def printed(command: list[str], text: str, address: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        command,
        input=text,
        env={**os.environ, "EVALWARD_ADDRESS": address},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@each_question
def test_python_gives_it(asked: dict[str, Any], address: str) -> None:
    text = snippets(question_of(asked))["Python"]

    assert printed([sys.executable, "-"], text, address).split()[0] == str(asked["allowed"])


@pytest.mark.skipif(
    not shutil.which("node") or not NODE_CLIENT.joinpath("dist").is_dir(),
    reason="npm ci and npm run build were not run in clients/node",
)
@each_question
def test_node_gives_it(asked: dict[str, Any], address: str) -> None:
    text = snippets(question_of(asked))["Node"]

    # The package may import itself by its name (Node's documentation, Packages, Self-referencing).
    found = printed(["node", "--input-type=module", "-"], text, address, NODE_CLIENT)

    assert found.split()[0] == str(asked["allowed"]).lower()


@each_question
def test_a_case_expects_the_verdicts_of_now(asked: dict[str, Any]) -> None:
    question = question_of(asked)
    verdict = verdict_view(question, START)

    (written,) = yaml.safe_load(case_text(question, "own/case", verdict))
    case = case_of("case", written)

    for profile in (Profile.BALANCED, Profile.STRICT):
        expected = case.expect[profile] if isinstance(case.expect, dict) else case.expect
        assert (expected == "allow") is verdict["profiles"][profile.value]["allowed"]
    assert (case.code, case.sink, case.bindings) == (question.code, question.sink, question.bindings)


def test_a_case_has_no_id_that_a_corpus_rejects() -> None:
    question = question_of(ASKED[0])

    with pytest.raises(CorpusError):
        case_text(question, "", verdict_view(question, START))


def test_a_policy_of_the_page_is_a_file_on_the_command_line() -> None:
    question = Question(code="1", target=Target.MAIN, policy="api_version: evalward/v1\n")

    assert snippets(question)["evalward check"].endswith(" --policy policy.yaml")
