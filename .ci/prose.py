"""Find the words of prose.toml in pages, docstrings, comments and messages.

    python .ci/prose.py             every enforced file, then the counts of the others by package
    python .ci/prose.py PATH ...    those of these files that are enforced (for pre-commit)
    python .ci/prose.py --list src  every finding below a folder, enforced or not

Exit code 1 when an enforced file has a finding.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^([ \t]*)(```+|~~~+).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK_TARGET = re.compile(r"(?<=\])\([^)\s]*\)")
SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL)
SCRIPT_TEXT = re.compile(r"'(?:[^'\\\n]|\\.)* (?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)* (?:[^`\\]|\\.)*`")
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*", re.MULTILINE)
BLANK_LINE = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True, slots=True)
class Word:
    """One entry of the list."""

    pattern: re.Pattern[str]
    instead: str
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A listed word at a line (from 1) of a file."""

    path: str
    line: int
    text: str
    word: Word

    def __str__(self) -> str:
        """Return one line for a terminal."""
        return f"{self.path}:{self.line}: {self.text!r}: {self.word.instead} ({self.word.reason})"


@dataclass(frozen=True, slots=True)
class Rules:
    """What prose.toml says."""

    words: tuple[Word, ...]
    enforced: tuple[str, ...]
    counted: tuple[str, ...]
    excluded: tuple[str, ...]


def load(path: Path = ROOT / ".ci" / "prose.toml") -> Rules:
    """Read the list. Raises KeyError for an entry without its fields, re.error for a bad pattern."""
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    words = tuple(
        Word(re.compile(each["pattern"], re.IGNORECASE), each["instead"], each["reason"])
        for each in data["words"]
    )
    excluded = (*data["generated"], *data["ignored"])
    return Rules(words, tuple(data["enforced"]), tuple(data["counted"]), excluded)


def passages(suffix: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the prose of a file with the line on which each passage begins."""
    if suffix == ".md":
        yield 1, _without_code(text)
    elif suffix == ".py":
        yield from _python(text)
    elif suffix in {".ts", ".js", ".mjs", ".cjs", ".proto"}:
        for pattern in (SCRIPT_COMMENT, SCRIPT_TEXT):
            yield from _matches(pattern, text)
    elif suffix in {".toml", ".yaml", ".yml", ".sh", ""}:
        yield from _matches(HASH_COMMENT, text)


def findings(path: str, text: str, words: tuple[Word, ...]) -> list[Finding]:
    """Return every listed word in the prose of ``text``, in order of lines."""
    found = [
        Finding(path, line + passage.count("\n", 0, match.start()), " ".join(match.group().split()), word)
        for line, passage in passages(Path(path).suffix, text)
        for word in words
        for match in word.pattern.finditer(_joined(passage))
    ]
    return sorted(found, key=lambda each: each.line)


def below(path: str, folders: tuple[str, ...]) -> bool:
    """Return whether ``path`` is one of ``folders`` or in one."""
    return any(path == each or path.startswith(f"{each}/") for each in folders)


def tracked() -> list[str]:
    """Return the files of the work tree that are or will be in the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return [each for each in listed.stdout.splitlines() if (ROOT / each).is_file()]


def search(paths: list[str], rules: Rules) -> list[Finding]:
    """Return the findings in ``paths``, which are relative to the repository."""
    found: list[Finding] = []
    for path in paths:
        if below(path, rules.excluded):
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += findings(path, text, rules.words)
    return found


def main(arguments: list[str]) -> int:
    """Check files, and print findings and counts; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help="Files or folders; default: everything that is enforced.")
    parser.add_argument("--list", metavar="FOLDER", help="Print every finding below a folder.")
    options = parser.parse_args(arguments)
    rules = load()
    if options.list:
        listed = [each for each in tracked() if below(each, (options.list.rstrip("/"),))]
        sys.stdout.writelines(f"{each}\n" for each in search(listed, rules))
        return 0
    named = tuple(str(Path(each).resolve().relative_to(ROOT)) for each in options.files) or rules.enforced
    wanted = [each for each in tracked() if below(each, named) and below(each, rules.enforced)]
    wrong = search(wanted, rules)
    sys.stdout.writelines(f"{each}\n" for each in wrong)
    if not options.files:
        _print_counts(rules)
    return 1 if wrong else 0


def _print_counts(rules: Rules) -> None:
    rest = [each for each in tracked() if below(each, rules.counted) and not below(each, rules.enforced)]
    counts = Counter(_package(each.path) for each in search(rest, rules))
    for package, count in sorted(counts.items()):
        sys.stdout.write(f"{count:5} {package}\n")
    sys.stdout.write(f"{counts.total():5} in all that is not enforced yet\n")


def _package(path: str) -> str:
    parts = Path(path).parts[:-1]
    depth = 4 if parts[:3] == ("src", "evalward", "guard") else 3 if parts[:1] == ("src",) else 2
    return "/".join(parts[:depth])


def _python(text: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, _without_code(node.value)
    comments = [
        (token.start[0], token.string.lstrip("# "))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    yield from _blocks(comments)


def _blocks(comments: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join the comments of consecutive lines, so that a phrase may span two of them."""
    block: list[str] = []
    first = 0
    for line, comment in comments:
        if block and line == first + len(block):
            block.append(comment)
            continue
        if block:
            yield first, _without_code("\n".join(block))
        first, block = line, [comment]
    if block:
        yield first, _without_code("\n".join(block))


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    comments = []
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        plain = re.sub(r"^[ \t]*(?:/?\*+/?|//+|#+)", " ", match.group(), flags=re.MULTILINE)
        comments += [(line + offset, part) for offset, part in enumerate(plain.split("\n"))]
    yield from _blocks(comments)


def _without_code(text: str) -> str:
    """Return ``text`` without code, links' targets and paragraphs' ends, each line where it was."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    def code(match: re.Match[str]) -> str:
        return "`" + "\n" * match.group().count("\n")

    return LINK_TARGET.sub(blank, CODE_SPAN.sub(code, FENCE.sub(blank, text)))


def _joined(passage: str) -> str:
    """Return ``passage`` with line breaks as spaces; a blank line ends a sentence."""
    marked = BLANK_LINE.sub(lambda match: "|" + " " * (len(match.group()) - 1), passage)
    return marked.replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
