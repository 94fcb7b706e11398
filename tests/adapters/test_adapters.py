"""Each adapter's output is the file in ``data/adapters``; ``python tests/adapters/test_adapters.py`` writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalward.adapters import to_call_tool_result, to_jsonrpc_error, to_numeric_error
from evalward.errors import (
    REGISTRY,
    Code,
    Meta,
    NotJsonError,
    Provenance,
    Repair,
    error_envelope,
    success_envelope,
)

GOLDEN = Path(__file__).parents[1] / "data" / "adapters"
META = Meta(
    1.5, "d" * 32, Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0"), audited=True
)
INFRASTRUCTURE = [code for code in Code if REGISTRY[code].is_infrastructure]
DOMAIN = [code for code in Code if not REGISTRY[code].is_infrastructure]

ENVELOPES: dict[str, dict[str, Any]] = {
    "success": success_envelope({"target": "renderer", "code_hash": "c" * 64}, meta=META),
    "block": error_envelope(
        Code.EVAL_BLOCKED_CONSTRUCT,
        "The payload reaches process.exit, which the policy blocks at line 1, column 1.",
        meta=META,
        details={"construct": "process.exit", "location": {"line": 1, "column": 1}, "code_hash": "c" * 64},
    ),
    "repair": error_envelope(
        Code.INVALID_INPUT,
        "The request's shape names nothing.",
        meta=META,
        repair=Repair(field="/shape", allowed=["script", "expression"]),
    ),
    "mixed": error_envelope(
        Code.INVALID_INPUT,
        '„quoted“ 😀 \u2028 \x7f "',
        meta=META,
        details={
            "\U0001f600": 1,
            "\ufffd": 2,
            "10": [3, {"9": None, "Z": True}],
            "9": 4,
            "é": -5.25,
            "_": {},
        },
    ),
    "overloaded": error_envelope(Code.OVERLOADED, "The service has no room for another request.", meta=META),
    "internal": error_envelope(Code.INTERNAL, "The request could not be judged.", meta=META),
    "unauthenticated": error_envelope(Code.UNAUTHENTICATED, "The call does not carry the token.", meta=META),
    "policy": error_envelope(Code.POLICY_INVALID, "policy.yaml: unknown field", meta=META),
    "late": error_envelope(Code.DEADLINE_EXCEEDED, "The caller's deadline has passed.", meta=META),
}
ADAPTERS = {"call_tool_result": to_call_tool_result, "jsonrpc": to_jsonrpc_error, "numeric": to_numeric_error}


def adapted(adapter: str, name: str) -> dict[str, Any]:
    try:
        return {"result": ADAPTERS[adapter](ENVELOPES[name])}
    except ValueError as refusal:
        return {"refused": str(refusal)}


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("name", ENVELOPES)
def test_the_output_is_the_golden_one(adapter: str, name: str) -> None:
    golden = json.loads((GOLDEN / f"{adapter}.json").read_text(encoding="utf-8"))

    assert adapted(adapter, name) == golden[name]


def test_a_failed_call_shows_the_model_the_actions_and_the_details_without_what_operators_need() -> None:
    envelope = ENVELOPES["block"]

    result: Any = to_call_tool_result(envelope)

    assert (result["isError"], result["structuredContent"]) == (True, envelope)
    assert [block["type"] for block in result["content"]] == ["text"]
    text = result["content"][0]["text"]
    assert all(action in text for action in envelope["next_actions"])
    assert json.loads(text[text.index("{") :]) == {
        "construct": "process.exit",
        "location": "1:1",
    }


def test_a_single_finding_is_told_once_and_several_are_listed_without_offsets() -> None:
    place = {"line": 1, "column": 2, "start": 1, "end": 5}
    one = {"construct": "with", "location": place}
    shown = [
        to_call_tool_result(
            error_envelope(
                Code.EVAL_BLOCKED_CONSTRUCT,
                "no",
                meta=META,
                details={**one, "findings": found, "findings_total": len(found), "findings_omitted": 0},
            )
        )
        for found in ([one], [one, one])
    ]
    texts: list[Any] = [result["content"] for result in shown]
    details = [json.loads(text[0]["text"].partition("\n\n")[2]) for text in texts]

    short = {"construct": "with", "location": "1:2"}
    assert details == [short, {**short, "findings": ["1:2 with", "1:2 with"]}]


def test_a_model_sees_the_first_findings_and_the_last_steps() -> None:
    place = {"line": 1, "column": 2, "start": 1, "end": 5}
    details = {
        "findings": [{"keyword": "eval(", "location": place}] * 9,
        "trace": [{"note": f"step {number}", "line": 1, "column": number} for number in range(5)],
    }

    result: Any = to_call_tool_result(
        error_envelope(Code.EVAL_BLOCKED_KEYWORD, "no", meta=META, details=details)
    )

    assert json.loads(result["content"][0]["text"].partition("\n\n")[2]) == {
        "findings": ["1:2 eval("] * 6,
        "findings_total": 9,
        "trace": ["1:2 step 2", "1:3 step 3", "1:4 step 4"],
    }


def test_a_model_is_not_told_of_the_flag_that_only_an_operator_can_set() -> None:
    required = Repair(field="/target", allowed=["renderer"], required=["--allow-eval=main"])

    result: Any = to_call_tool_result(
        error_envelope(Code.EVAL_TARGET_DENIED, "no", meta=META, repair=required)
    )

    assert "--allow-eval" not in result["content"][0]["text"]
    assert result["structuredContent"]["details"]["required"] == ["--allow-eval=main"]


def test_a_failure_of_evalward_gives_the_id_that_an_operator_asks_for() -> None:
    result: Any = to_call_tool_result(ENVELOPES["internal"])

    assert json.loads(result["content"][0]["text"].partition("\n\n")[2]) == {"decision_id": "d" * 32}


@pytest.mark.parametrize("code", DOMAIN)
def test_a_domain_failure_is_no_protocol_error(code: Code) -> None:
    with pytest.raises(ValueError, match="domain failure"):
        to_jsonrpc_error(error_envelope(code, "no", meta=META))


@pytest.mark.parametrize("code", INFRASTRUCTURE)
def test_every_infrastructure_failure_has_a_negative_number(code: Code) -> None:
    error = to_jsonrpc_error(error_envelope(code, "no", meta=META))

    assert error["code"] in {-32004, -32003, -32001, -32000, -32603}


@pytest.mark.parametrize("code", Code)
def test_every_code_has_its_positive_number(code: Code) -> None:
    assert to_numeric_error(error_envelope(code, "no", meta=META))["code"] == REGISTRY[code].number


FOREIGN = {"ok": False, "error": "e", "code": "plugin.CODE", "number": 4000, "domain": "plugin"}


@pytest.mark.parametrize(
    ("category", "number"),
    [
        *{
            "CONFIG": -32004,
            "AUTH": -32003,
            "UPSTREAM": -32002,
            "TIMEOUT": -32001,
            "TRANSPORT": -32000,
        }.items(),
        *{"PROTOCOL": -32000, "INTERNAL": -32603, "WEATHER": -32603, None: -32603}.items(),
    ],
)
def test_a_foreign_code_goes_by_its_category(category: str | None, number: int) -> None:
    assert to_jsonrpc_error({**FOREIGN, "category": category})["code"] == number


def test_a_foreign_input_failure_is_no_protocol_error() -> None:
    with pytest.raises(ValueError, match="domain failure"):
        to_jsonrpc_error({**FOREIGN, "category": "INPUT"})


@pytest.mark.parametrize("adapter", ADAPTERS.values())
@pytest.mark.parametrize("envelope", [{}, {"ok": None}, {"ok": 0, "number": 1}, {"ok": "false", "number": 1}])
def test_what_is_no_envelope_is_refused(adapter: Any, envelope: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="envelope"):
        adapter(envelope)


@pytest.mark.parametrize("adapter", ADAPTERS.values())
def test_what_json_cannot_carry_is_refused(adapter: Any) -> None:
    with pytest.raises(NotJsonError):
        adapter({**ENVELOPES["internal"], "details": {"score": float("nan")}})


if __name__ == "__main__":
    for adapter in ADAPTERS:
        outputs = {name: adapted(adapter, name) for name in ENVELOPES}
        text = json.dumps(outputs, indent=2, ensure_ascii=False, sort_keys=True)
        (GOLDEN / f"{adapter}.json").write_text(f"{text}\n", encoding="utf-8")
