"""The same question outside the page: on the command line, over gRPC, in Python and in Node, and as a corpus case."""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import yaml

from evalward.corpus.corpus_case import CorpusError, case_of

if TYPE_CHECKING:
    from evalward.playground.question import Frame, Question

_ADDRESS = "127.0.0.1:7443"


def snippets(question: Question) -> dict[str, str]:
    """Return a text for each way, by its name."""
    frame = question.frame()
    named = {"sink": frame.sink} if frame.sink else {"target": str(frame.target)}
    if frame.shape:
        named["shape"] = str(frame.shape)
    return {
        "evalward check": _command(question, named, frame),
        "grpcurl": _grpcurl(question, frame),
        "Python": _python(question, named),
        "Node": _node(question, named),
    }


def _command(question: Question, named: dict[str, str], frame: Frame) -> str:
    words = ["evalward", "check", "-e", question.code]
    for name, value in named.items():
        words += [f"--{name}", value]
    if question.profile:
        words += ["--profile", str(question.profile)]
    for name, kind in frame.bindings.items():
        words += ["--bind", f"{name}={kind}"]
    return shlex.join(words)


def _grpcurl(question: Question, frame: Frame) -> str:
    request: dict[str, Any] = {"code": b64encode(question.payload).decode()}
    if frame.sink:
        request["sink"] = frame.sink
    else:
        request["target"] = f"TARGET_{frame.target.name}"
    if frame.shape:
        request["shape"] = f"SHAPE_{frame.shape.name}"
    if frame.bindings:
        request["bindings"] = {**frame.bindings}
    data = shlex.quote(json.dumps(request))
    return f"grpcurl -plaintext -d {data} {_ADDRESS} evalward.v1.GuardService/Validate"


def _python(question: Question, named: dict[str, str]) -> str:
    options = "".join(f", {name}={value!r}" for name, value in named.items())
    return (
        "from evalward.client import GuardClient\n\n"
        f'with GuardClient("{_ADDRESS}") as guard:\n'
        f"    decision = guard.validate({question.code!r}.encode(){options})\n"
        "print(decision.allowed, decision.envelope)\n"
    )


def _node(question: Question, named: dict[str, str]) -> str:
    return (
        "import { Guard } from 'evalward';\n\n"
        f"const guard = new Guard({{ address: '{_ADDRESS}' }});\n"
        f"const decision = await guard.validate({json.dumps(question.code)}, {json.dumps(named)});\n"
        "console.log(decision.allowed, decision.envelope);\n"
    )


def case_text(question: Question, name: str, *, allowed: bool, construct: str | None) -> str:
    """Return the payload as a case of a corpus file (YAML), which expects the verdict; raise CorpusError."""
    frame = question.frame()
    fields: dict[str, Any] = {
        "id": name,
        "code": question.code,
        "sink": frame.sink,
        "target": None if frame.sink else str(frame.target),
        "shape": frame.shape and str(frame.shape),
        "bindings": {**frame.bindings} or None,
        "expect": "allow" if allowed else "block",
        "construct": construct,
    }
    present = {key: value for key, value in fields.items() if value is not None}
    try:
        text = yaml.safe_dump([present], sort_keys=False, allow_unicode=True, width=10_000)
    except yaml.YAMLError:
        raise CorpusError("the payload cannot be written as YAML") from None
    case_of("case", yaml.safe_load(text)[0])
    return text
