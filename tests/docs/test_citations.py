"""The citations of the design pages in the source resolve."""

import subprocess
from pathlib import Path

import pytest
from design_citations import Citation, citations, resolves, sections

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs" / "design"
PAGES = {page.stem: sections(page.read_text("utf-8")) for page in sorted(DESIGN.glob("*.md"))}
CITING = ("src", "tests", "clients/node/src", "benchmarks", "docs", "deploy", "corpus", "examples", "proto")
TEXTS = {".py", ".toml", ".yaml", ".yml", ".md", ".ts", ".js", ".mjs", ".proto", ".json", ".sh", ".txt"}


def citing_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *CITING], cwd=ROOT, capture_output=True, text=True, check=True
    )
    own = {Path(__file__).name, "design_citations.py"}
    return [
        ROOT / name
        for name in listed.stdout.splitlines()
        if Path(name).suffix in TEXTS and Path(name).name not in own and (ROOT / name).is_file()
    ]


@pytest.mark.exhaustive
def test_every_citation_resolves() -> None:
    unresolved, count = [], 0
    for path in citing_files():
        for each in citations(path.read_text("utf-8", errors="replace"), frozenset(PAGES)):
            count += 1
            if each.page not in PAGES or not resolves(each, PAGES[each.page]):
                unresolved.append(f"{path.relative_to(ROOT)}: {each}")

    assert unresolved == []
    assert count > 100, "the source cites the design; the pattern finds nothing"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(guard.md §2).", [Citation("guard", "2")]),
        (
            "(guard.md §1, §4 U10)",
            [Citation("guard", "1"), Citation("guard", "4"), Citation("guard", "4", "U10")],
        ),
        ("(guard.md §1, step 3)", [Citation("guard", "1"), Citation("guard", "1", "step 3")]),
        ("(guard.md §1.3).", [Citation("guard", "1"), Citation("guard", "1", "step 3")]),
        ("guard.md, section 4, one", [Citation("guard", "4")]),
        (
            "(guard.md §4, U1 to U3)",
            [Citation("guard", "4"), *(Citation("guard", "4", f"U{n}") for n in (1, 2, 3))],
        ),
        ("of guard.md §2, the least number of reads: one (a)", [Citation("guard", "2")]),
        ("(service.md, Audit log). More", [Citation("service", None, "Audit log")]),
        (
            '(service.md,\n    # "Sockets, identity, limits").',
            [Citation("service", None, "Sockets, identity, limits")],
        ),
        ("(contract.md §3, sandbox.md).", [Citation("contract", "3"), Citation("sandbox")]),
        ("as in seed 003.", [Citation("history", None, "Seed 003")]),
        ("missing.md §2", [Citation("missing", "2")]),
        ("docs/guard.md and other.md", []),
    ],
)
def test_a_citation_is_read_as_it_is_written(text: str, expected: list[Citation]) -> None:
    assert list(citations(text, frozenset({"guard", "contract", "service", "sandbox"}))) == expected


@pytest.mark.parametrize(
    "citation",
    [
        Citation("guard", "99"),
        Citation("guard", "4", "U99"),
        Citation("guard", "1", "step 9"),
        Citation("service", None, "Nothing of that name"),
    ],
    ids=str,
)
def test_what_is_not_there_does_not_resolve(citation: Citation) -> None:
    assert not resolves(citation, PAGES[citation.page])
