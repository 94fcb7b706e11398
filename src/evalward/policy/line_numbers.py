"""The line of each key in the text of a document.

YAML's parser reports positions. TOML's does not, so that lines are found by matching keys and table headers in the
text: a key inside an inline table, or in an unusual notation, gets the line of its container.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADER: Final = re.compile(r"\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?")
_NAME: Final = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_KEY: Final = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART: Final = re.compile(_NAME)
_Path = tuple[str | int, ...]


class Places:
    """The lines of one document; ``line_of`` returns that of a path, or of its nearest known container."""

    def __init__(self, found: dict[_Path, int]) -> None:
        self._lines = found

    @classmethod
    def of_yaml(cls, text: str) -> Places:
        """Read ``text``, which must be valid YAML."""
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return cls(dict(_nodes(root, ())) if root is not None else {})

    @classmethod
    def of_json(cls, text: str) -> Places:
        """Read ``text``, which must be valid JSON; there are no lines if YAML's parser rejects it."""
        try:
            # Outside of strings a tab is a space, and inside of them JSON has none.
            return cls.of_yaml(text.replace("\t", " "))
        except (yaml.YAMLError, RecursionError):
            return cls({})

    @classmethod
    def of_toml(cls, text: str) -> Places:
        """Read ``text``, which must be valid TOML."""
        return cls(_tables(text))

    def line_of(self, path: Sequence[str | int]) -> int | None:
        """Return the line, from 1, of ``path`` or of its longest known prefix; None for the document itself."""
        for length in range(len(path), 0, -1):
            line = self._lines.get(tuple(path[:length]))
            if line is not None:
                return line
        return None


def _nodes(node: yaml.Node, path: _Path) -> Iterator[tuple[_Path, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*path, str(key.value))
            yield below, key.start_mark.line + 1
            yield from _nodes(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for place, value in enumerate(node.value):
            yield (*path, place), value.start_mark.line + 1
            yield from _nodes(value, (*path, place))


def _tables(text: str) -> dict[_Path, int]:
    lines: dict[_Path, int] = {}
    counts: dict[_Path, int] = {}
    table: _Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.fullmatch(line), _KEY.match(line)
        if header is not None:
            table = _entered(_parts(header[2]), counts, new=header[1] == "[[")
        path = table if header is not None else (*table, *_parts(key[1])) if key is not None else ()
        for length in range(1, len(path) + 1):
            lines.setdefault(path[:length], number)
    return lines


def _entered(names: Sequence[str], counts: dict[_Path, int], *, new: bool) -> _Path:
    """Return the path of a table: the place of the last entry behind the name of each array of tables."""
    path: _Path = ()
    for step, name in enumerate(names):
        path = (*path, name)
        if new and step == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(text: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(text)]
