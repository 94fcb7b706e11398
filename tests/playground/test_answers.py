"""The server of the page: which requests it answers, and how."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

pytest.importorskip("uvicorn", reason="evalward[ui] is not installed")

from served import CASES, TOKEN, Served, audit_log, playground_of, served

from evalward.corpus.corpus_case import case_of

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[1] / "data"
HOSTILE = [each["text"] for each in yaml.safe_load(DATA.joinpath("hostile_display.yaml").read_text("utf-8"))]
ESCAPE = "const 𐐀 = 'exit';\nprocess[𐐀](0)"
AUDITS = """\
api_version: evalward/v1
targets: {renderer: {allowed: true}, main: {allowed: true}}
constructs: {network: block}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = audit_log(tmp_path_factory.mktemp("log") / "audit.jsonl")
    with served(playground_of(log)) as found:
        yield found


def send(
    page: Served, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", page.port, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, given)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def ask(page: Served, name: str, body: Any) -> tuple[int, Any]:
    headers = {"origin": page.origin, "content_type": "application/json"}
    status, _, content = send(page, "POST", f"/{TOKEN}/api/{name}", json.dumps(body).encode(), **headers)
    return status, json.loads(content)


def test_the_page_permits_nothing_but_itself(page: Served) -> None:
    status, headers, content = send(page, "GET", f"/{TOKEN}/")

    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert status == 200
    assert "unsafe" not in headers["content-security-policy"]
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["img-src"] == "'self'"
    assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
    assert "server" not in headers
    assert b"://" not in content


@pytest.mark.parametrize(
    "path", ["/", "/api/about", f"/{TOKEN}x/", f"/{TOKEN}", "/x/api/about", f"/{TOKEN}/../x"]
)
def test_without_the_token_there_is_nothing(page: Served, path: str) -> None:
    assert send(page, "GET", path)[0] == 404


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"host": "evil.example:80"}),
        ("GET", {"host": "127.0.0.1.evil.example"}),
        ("GET", {"sec_fetch_site": "cross-site"}),
        ("GET", {"sec_fetch_site": "same-site"}),
        ("POST", {"content_type": "application/json"}),
        ("POST", {"content_type": "application/json", "origin": "http://evil.example"}),
        ("POST", {"content_type": "application/json", "origin": "null"}),
        ("POST", {"content_type": "text/plain"}),
    ],
)
def test_another_page_gets_nothing(page: Served, method: str, headers: dict[str, str]) -> None:
    given = {"origin": page.origin, **headers} if headers.get("content_type") == "text/plain" else headers

    assert send(page, method, f"/{TOKEN}/api/about", b"{}" if method == "POST" else b"", **given)[0] == 403


def test_a_verdict_has_its_places_in_code_units(page: Served) -> None:
    status, answer = ask(page, "judge", {"code": ESCAPE})

    assert status == 200
    assert (answer["allowed"], answer["about"]) == (False, "process.exit")
    begin, end = answer["findings"][0]["span"]
    units = ESCAPE.encode("utf-16-le")
    assert units[2 * begin : 2 * end].decode("utf-16-le") == "process[𐐀](0)"
    assert {name: each["allowed"] for name, each in answer["profiles"].items()} == {
        "balanced": False,
        "strict": False,
        "seed": True,
    }
    assert answer["findings"][0]["steps"][-1]["note"] == "`process.exit` is called"


def test_a_rewrite_is_offered_and_allowed(page: Served) -> None:
    code = "setTimeout('done()', 10)"
    _, answer = ask(page, "judge", {"code": code, "target": "renderer"})

    for each in reversed(answer["rewrites"]):
        begin, end = each["span"]
        code = code[:begin] + each["text"] + code[end:]
    assert answer["rewrites"]
    assert ask(page, "judge", {"code": code, "target": "renderer"})[1]["allowed"]


def test_the_policy_of_the_page_decides(page: Served) -> None:
    question = {"code": "fetch('/x')", "target": "renderer"}

    assert ask(page, "judge", question)[1]["allowed"]
    assert ask(page, "judge", {**question, "policy": AUDITS})[1]["about"] == "network"
    assert ask(page, "policy", {"policy": AUDITS})[1]["valid"]
    wrong = ask(page, "policy", {"policy": AUDITS.replace("network", "netwrk")})[1]
    assert (wrong["valid"], wrong["issues"][0]["line"]) == (False, 3)
    status, refused = ask(page, "judge", {**question, "policy": "profil: x"})
    assert (status, "policy is not valid" in refused["error"]) == (200, True)


def test_the_effect_of_a_policy_on_the_corpus_names_the_cases(page: Served) -> None:
    headers = {"origin": page.origin, "content_type": "application/json"}
    body = json.dumps({"policy": AUDITS}).encode()

    _, _, content = send(page, "POST", f"/{TOKEN}/api/effect", body, **headers)

    lines = [json.loads(line) for line in content.splitlines()]
    assert [line["id"] for line in lines if "id" in line] == ["page/send"]
    assert lines[-1] == {"done": 3, "total": 3, "changed": 1}
    assert ask(page, "case", {"id": "page/send"})[1]["code"] == "fetch('/x')"
    assert ask(page, "case", {"id": "none"})[0] == 404


def test_a_program_and_its_runs(page: Served) -> None:
    _, made = ask(page, "harden", {"code": "a[b](c)", "target": "renderer", "shape": "expression"})
    _, ran = ask(page, "run", {"code": "console.log('x'); [1, 2].map((x) => x * 2)"})
    _, denied = ask(page, "run", {"code": "eval('1')"})
    _, threw = ask(page, "run", {"code": "(() => { throw new RangeError('far') })()"})
    _, reached = ask(page, "oracle", {"code": "process['ex' + 'it'](0)", "target": "main", "shape": "script"})

    assert made["made"]
    assert f"{made['prefix']}c1(" in made["readable"]
    assert made["prefix"] not in made["emitted"]
    assert (ran["ran"], ran["result"], ran["console"][0]["text"]) == (True, "[2,4]", "x")
    assert (denied["ran"], denied["about"]) == (False, "eval(")
    assert threw["thrown"] == "RangeError: far"
    assert reached["reached"]


def test_the_same_question_elsewhere(page: Served) -> None:
    question = {"code": "it's\n\"`${x}`", "sink": "playwright.evaluate"}
    _, found = ask(page, "snippets", question)

    assert [*found] == ["evalward check", "grpcurl", "Python", "Node"]
    assert "--sink playwright.evaluate" in found["evalward check"]
    compile(found["Python"], "snippet", "exec")
    asked = {"question": question, "id": "own/case"}
    (case,) = yaml.safe_load(ask(page, "as-case", asked)[1]["text"])
    assert case_of("case", case).code == question["code"]
    assert ask(page, "as-case", {**asked, "id": ""})[1]["error"]


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 1_000_000, "\ud800", "a\r\nb\rc"])
def test_hostile_texts_are_judged_and_never_repeated(page: Served, text: str) -> None:
    for code in (text, f"eval({json.dumps(text)})", f"process[{json.dumps(text)}]()"):
        status, answer = ask(page, "judge", {"code": code})
        assert status == 200
        said = [answer["message"], answer["hint"], *answer["next_actions"]]
        said += [step["note"] for each in answer["findings"] for step in each["steps"]]
        assert [char for each in said for char in each if not char.isprintable()] == []
    assert ask(page, "policy", {"policy": f"api_version: {json.dumps(text)}"})[0] == 200


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("judge", {"code": 1}, 400),
        ("judge", {"code": "1", "more": 1}, 400),
        ("judge", {"code": "1", "target": "mian"}, 400),
        ("judge", {"code": "1", "sink": "none.such"}, 200),
        ("judge", {"code": "1", "bindings": {"process": "json"}}, 200),
        ("judge", [], 400),
        ("policy", {}, 200),
        ("policy", [], 200),
        ("effect", {"policy": "x"}, 200),
        ("case", {"id": 1}, 200),
        ("as-case", {"id": "a", "question": None}, 400),
    ],
)
def test_a_wrong_question_is_refused(page: Served, name: str, body: Any, status: int) -> None:
    found, answer = ask(page, name, body)

    assert found == status
    assert answer["error"]


def test_the_log_has_its_figures_and_no_payload(page: Served) -> None:
    status, _, content = send(page, "GET", f"/{TOKEN}/api/log")

    found = json.loads(content)
    assert status == 200
    assert found["proof"]["whole"] is True
    assert {each["name"]: each["value"] for each in found["figures"]}["Calls"] == "400"
    assert sum(sum(each["counts"]) for each in found["series"]["denied"]) == len(found["denials"])
    assert "location.hash" not in content.decode()


def test_without_a_log_there_is_none() -> None:
    with served(playground_of()) as page:
        assert send(page, "GET", f"/{TOKEN}/api/log")[0] == 404
        about = json.loads(send(page, "GET", f"/{TOKEN}/api/about")[2])
        assert about["log"] is False
        assert [each["id"] for each in about["cases"]] == [each["id"] for each in CASES]
