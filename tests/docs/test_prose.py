"""The prose check: its list is precise, it reads prose and not code, and the enforced pages pass it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "prose.py"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evalward_ci_prose", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


PROSE = script()
RULES = PROSE.load()
BAD = (
    "Text that is dear to parse.",
    "The file is taken anew.",
    "Whoever asks gets an answer.",
    "Who permits them permits more.",
    "Nobody can read it, and everybody may ask somebody.",
    "It holds for good, if tools are at hand.",
    "When all is told, it ends of its own accord.",
    "A file that is not right is refused for want of room.",
    "There is a road to `process` beside it.",
    "Somewhere it is told, as far as the log takes it.",
    "The oldest gives way, and what is left goes on.",
    "The file is read anew by anybody.",
    "The counter takes it for a record, and is what it says.",
    "A job has its turn, or is given up.",
    "It reports how things are, and what became of the call.",
    "It is rejected all the same.",
)
GOOD = (
    "Text that is expensive to parse is rejected: overloaded.",
    "The roadmap lists the next release; a new file is loaded for good reason.",
    "The caller who asked gets an answer of its own.",
    "Besides the policy, the log names the caller. On the other hand, it may not.",
    "It goes on to name the reader.",
    "All the same values are cached, in turn.",
)


@pytest.mark.parametrize("text", BAD)
def test_a_listed_word_is_found(text: str) -> None:
    assert PROSE.findings("page.md", text, RULES.words) != []


@pytest.mark.parametrize("text", GOOD)
def test_usual_words_are_not(text: str) -> None:
    assert [str(each) for each in PROSE.findings("page.md", text, RULES.words)] == []


def test_a_phrase_is_found_over_the_end_of_a_line_and_not_over_that_of_a_paragraph() -> None:
    text = "one\nIt holds for\ngood.\n\nIt is for\n\ngood.\n"

    assert [(each.line, each.text) for each in PROSE.findings("page.md", text, RULES.words)] == [
        (2, "for good")
    ]


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("page.md", "a `road` and\n```\na road\n```\n[road](road.md) road\n", [5, 5]),
        ("module.py", '"""A road."""\nroad = 1  # a road\nlog("no road here")\nlog("road")\n', [1, 2, 3]),
        ("module.py", "x = 1\n# for\n# good\n", [2]),
        (
            "module.ts",
            "/** A road.\n * A road.\n */\nroad(); // road\nlog('no road here', 'road');\n",
            [1, 2, 4, 5],
        ),
        ("file.yaml", "road: road  # a road\n", [1]),
        ("image.bin", "road", []),
    ],
)
def test_prose_is_read_and_code_is_not(path: str, text: str, lines: list[int]) -> None:
    assert [each.line for each in PROSE.findings(path, text, RULES.words)] == lines


@pytest.mark.exhaustive
def test_the_enforced_files_pass() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.count("\n") > 0) == (0, True), done.stdout


def test_a_named_file_that_is_enforced_is_checked_and_another_is_not() -> None:
    rules = PROSE.Rules(RULES.words, ("README.md",), (), ())

    assert PROSE.below("README.md", rules.enforced)
    assert not PROSE.below("README.md.txt", rules.enforced)
    assert PROSE.below("src/evalward/api.py", RULES.enforced)
    assert PROSE.below("src/evalward/guard/pipeline.py", RULES.enforced)
    assert PROSE.main([str(ROOT / "README.md"), str(ROOT / "tests" / "docs" / "test_prose.py")]) == 0


def test_every_path_of_the_list_is_one_that_can_exist() -> None:
    expected = {"CONTRIBUTING.md", "CHANGELOG.md"}  # enforced once they exist
    missing = {each for each in (*RULES.enforced, *RULES.pending) if not (ROOT / each).exists()}

    assert missing <= expected
