"""A runner of the tests in place of the engine, and the requests and the policy of the tests."""

from typing import Any

from evalward.guard.target import Target
from evalward.policy import Policy
from evalward.sandbox import Evaluation
from evalward.v1 import evalward_pb2 as pb

POLICY = Policy.default().allowing([Target.SANDBOX])


class Scripted:
    """A runner that returns scripted answers and records its arguments."""

    def __init__(self, *answers: Evaluation | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def warm_up(self) -> None:
        pass

    def evaluate(self, code: bytes, **rest: Any) -> Evaluation:
        self.asked.append({"code": code, **rest})
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def request(code: bytes = b"1 + 1", **fields: Any) -> pb.EvaluateRequest:
    return pb.EvaluateRequest(code=code, **fields)
