"""Which manifest a name in a client's configuration means, in the spelling of each product."""

import pytest

from evalward.errors import CodedError
from evalward.hook import claude_code, cursor, docker, vscode
from evalward.tools import ManifestError
from evalward.tools.ready import ready_manifests
from evalward.tools.servers import USUAL_NAMES, Named, Servers

NONE = Servers()
NAMED = Servers.parse(["My Browser=playwright-mcp", "devtools=chrome-devtools-mcp/default"])


def meant(servers: Servers, *readings: Named) -> tuple[str, str | None]:
    found = servers.find(readings)
    return found.tool, found.manifest.server if found.manifest else None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mcp__playwright__browser_click", ("browser_click", "Playwright")),
        ("mcp__Playwright__browser_click", ("browser_click", "Playwright")),
        ("mcp__plugin_playwright_playwright__browser_click", ("browser_click", "Playwright")),
        ("mcp__chrome-devtools__click", ("click", "chrome_devtools")),
        ("mcp__puppeteer__puppeteer_evaluate", ("puppeteer_evaluate", None)),
        ("mcp__my_browser__browser_click", ("browser_click", "Playwright")),
        ("mcp__a__b__c", ("b__c", None)),
        ("mcp__playwright__x__y", ("x__y", "Playwright")),
    ],
)
def test_names_of_claude_code(name: str, expected: tuple[str, str | None]) -> None:
    assert meant(NAMED, *claude_code.readings(name)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mcp_playwright_browser_click", ("browser_click", "Playwright")),
        ("mcp_my_browser_browser_click", ("browser_click", "Playwright")),
        ("mcp_chrome-devtoo_click", ("click", "chrome_devtools")),
        ("mcp_chrome_devtoo_click", ("click", "chrome_devtools")),
        ("mcp_microsoft_pla_browser_click", ("browser_click", "Playwright")),
        ("mcp_playwright2_browser_click", ("browser_click", None)),
        ("mcp__devtools__click", ("click", "chrome_devtools")),
    ],
)
def test_names_of_vscode(name: str, expected: tuple[str, str | None]) -> None:
    text = f'{{"hookEventName":"PreToolUse","tool_name":"{name}","tool_input":{{}}}}'

    assert meant(NAMED, *vscode.read(text.encode()).readings) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("browser_click", ("browser_click", "Playwright")),
        ("MCP:browser_click", ("browser_click", "Playwright")),
        ("MCP:devtools:click", ("click", "chrome_devtools")),
        ("MCP:playwright:browser_click", ("browser_click", "Playwright")),
        ("query", ("query", None)),
    ],
)
def test_names_of_cursor(name: str, expected: tuple[str, str | None]) -> None:
    text = f'{{"hook_event_name":"beforeMCPExecution","tool_name":"{name}","tool_input":{{}}}}'

    assert meant(NAMED, *cursor.read(text.encode()).readings) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("browser_click", ("browser_click", "Playwright")),
        ("devtools__click", ("click", "chrome_devtools")),
        ("playwright__browser_click", ("browser_click", "Playwright")),
        ("a__b", ("a__b", None)),
    ],
)
def test_names_of_docker(name: str, expected: tuple[str, str | None]) -> None:
    text = f'{{"Params":{{"name":"{name}"}}}}'

    assert meant(NAMED, *docker.read(text.encode()).readings) == expected


def test_without_a_server_the_usual_names_prove_nothing() -> None:
    assert meant(NONE, Named(None, "browser_click")) == ("browser_click", None)
    assert meant(NONE, Named("playwright", "browser_click")) == ("browser_click", "Playwright")
    assert meant(Servers(usual=False), Named("playwright", "browser_click")) == ("browser_click", None)


def test_a_tool_of_two_servers_is_denied() -> None:
    both = Servers.parse(["a=server-puppeteer", "b=puppeteer-mcp-server"])

    with pytest.raises(CodedError, match="Several servers"):
        both.find([Named(None, "puppeteer_evaluate")])
    assert both.find([Named("b", "puppeteer_evaluate")]).manifest is ready_manifests()["puppeteer-mcp-server"]


def test_one_manifest_under_two_names_is_one() -> None:
    twice = Servers.parse(["a=playwright-mcp/all-caps", "b=ready:playwright-mcp/all-caps"])

    assert meant(twice, Named(None, "browser_click")) == ("browser_click", "Playwright")


def test_the_operator_comes_before_the_usual_names() -> None:
    own = Servers.parse(["playwright=chrome-devtools-mcp/slim"])

    assert meant(own, Named("playwright", "evaluate")) == ("evaluate", "chrome_devtools")


@pytest.mark.parametrize("text", ["", "x", "=playwright-mcp", "x=", "playwright-mcp"])
def test_an_option_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NAME=MANIFEST"):
        Servers.parse([text])


@pytest.mark.parametrize("second", ["my-browser", "MY.BROWSER", "my browser"])
def test_two_names_that_a_client_cannot_tell_are_refused(second: str) -> None:
    with pytest.raises(ValueError, match="twice"):
        Servers.parse(["my_browser=playwright-mcp", f"{second}=playwright-mcp"])


@pytest.mark.parametrize(
    "source", ["other", "ready:other", "playwright-mcp/other", "none.yaml", "/etc/passwd"]
)
def test_a_manifest_that_is_not_there_is_refused(source: str) -> None:
    with pytest.raises(ManifestError):
        Servers.parse([f"x={source}"])


def test_every_usual_name_has_a_manifest() -> None:
    assert {*USUAL_NAMES.values()} <= {*ready_manifests()}
    assert "puppeteer" not in USUAL_NAMES
