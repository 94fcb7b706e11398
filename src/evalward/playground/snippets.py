"""The same question outside the page: on the command line, over gRPC, in Python and in Node, and as a corpus case.

The service answers over gRPC only, so that no text is for HTTP. It judges under its own policy, and its address is
EVALWARD_ADDRESS, else the default one.
"""

from __future__ import annotations

import json
import shlex
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

import yaml

from evalward.corpus.corpus_case import CorpusError, case_of
from evalward.guard.target import Profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.playground.question import Question

_ADDRESS: Final = "127.0.0.1:7443"
"""The default of ``evalward serve`` and of the clients; grpcurl needs it said."""
_POLICY_FILE: Final = "policy.yaml"


def snippets(question: Question) -> dict[str, str]:
    """Return a text for each way, by its name; raise CodedError for a sink that cannot be asked so."""
    frame = question.frame()
    named = {"sink": frame.sink} if frame.sink else {"target": str(frame.target)}
    if frame.shape:
        named["shape"] = str(frame.shape)
    # The default: a service whose policy is stricter refuses to be asked for less.
    if question.profile not in {None, Profile.BALANCED}:
        named["profile"] = str(question.profile)
    bindings = {**frame.bindings}
    return {
        "evalward check": _command(question, named, bindings),
        "grpcurl": _grpcurl(question, named, bindings),
        "Python": _python(question, named, bindings),
        "Node": _node(question, named, bindings),
    }


def _command(question: Question, named: dict[str, str], bindings: dict[str, str]) -> str:
    words = ["evalward", "check", f"--code={question.code}"]
    for name, value in named.items():
        words += [f"--{name}", value]
    for name, kind in bindings.items():
        words += ["--bind", f"{name}={kind}"]
    if question.policy.strip():
        words += ["--policy", _POLICY_FILE]
    return shlex.join(words)


def _grpcurl(question: Question, named: dict[str, str], bindings: dict[str, str]) -> str:
    request: dict[str, Any] = {"code": b64encode(question.payload).decode()}
    for name, value in named.items():
        request[name] = value if name == "sink" else f"{name}_{value}".upper()
    if bindings:
        request["bindings"] = bindings
    data = shlex.quote(json.dumps(request))
    return f"grpcurl -plaintext -d {data} {_ADDRESS} evalward.v1.GuardService/Validate"


def _python(question: Question, named: dict[str, str], bindings: dict[str, str]) -> str:
    options = [f"{name}={value!r}" for name, value in named.items()]
    options += [f"bindings={bindings!r}"] if bindings else []
    return (
        "from evalward.client import GuardClient\n\n"
        "with GuardClient() as guard:\n"
        f"    decision = guard.validate({', '.join([repr(question.payload), *options])})\n"
        "print(decision.allowed, decision.envelope)\n"
    )


def _node(question: Question, named: dict[str, str], bindings: dict[str, str]) -> str:
    options = {**named, "bindings": bindings} if bindings else named
    return (
        "import { Guard } from 'evalward';\n\n"
        "const guard = new Guard();\n"
        f"const decision = await guard.check({json.dumps(question.code)}, {json.dumps(options)});\n"
        "console.log(decision.allowed, decision.envelope);\n"
        "guard.close();\n"
    )


def case_text(question: Question, name: str, verdict: Mapping[str, Any]) -> str:
    """Return the payload as a case of a corpus file (YAML), which expects ``verdict``, the view of it.

    It says nothing of the profile ``seed`` unless that is the one in force. Raise CorpusError.
    """
    frame = question.frame()
    expected = {
        name: "allow" if each["allowed"] else "block"
        for name, each in verdict["profiles"].items()
        if name in {Profile.BALANCED, Profile.STRICT, verdict["profile"]}
    }
    blocking = (each["construct"] for each in verdict["findings"] if each["blocks"])
    fields: dict[str, Any] = {
        "id": name,
        "code": question.code,
        "sink": frame.sink,
        "target": None if frame.sink else str(frame.target),
        "shape": frame.shape and str(frame.shape),
        "bindings": {**frame.bindings} or None,
        "expect": expected if len({*expected.values()}) > 1 else next(iter(expected.values())),
        "construct": next(blocking, None),
    }
    present = {key: value for key, value in fields.items() if value is not None}
    try:
        text = yaml.safe_dump([present], sort_keys=False, allow_unicode=True, width=10_000)
    except yaml.YAMLError:
        raise CorpusError("the payload cannot be written as YAML") from None
    case_of("case", yaml.safe_load(text)[0])
    return text
