"""No module depends on itself through others; imports under TYPE_CHECKING count."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp


def test_no_module_is_in_a_circle_of_imports() -> None:
    graph = grimp.build_graph("evalward", exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert circles(imports) == []


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of more than one module, the largest first."""
    left = {module: set(imported) for module, imported in imports.items()}
    found: list[set[str]] = []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            start = error.args[1][0]
        else:
            return sorted(found, key=len, reverse=True)
        inverse: dict[str, set[str]] = {module: set() for module in left}
        for module, imported in left.items():
            for each in imported:
                inverse[each].add(module)
        circle = reached(start, left) & reached(start, inverse)
        found.append(circle)
        left = {module: imported - circle for module, imported in left.items() if module not in circle}


def reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen = {start}
    pending = [start]
    while pending:
        new = edges[pending.pop()] - seen
        seen |= new
        pending.extend(new)
    return seen


def test_a_circle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"f"}, "f": {"e"}}
    assert sorted(map(sorted, circles(imports))) == [["b", "c"], ["e", "f"]]
