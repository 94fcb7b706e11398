"""Compare the decisions of two installations of Evalward, as the pure and the compiled build, over the same programs.

    python benchmarks/builds.py FOLDER FOLDER --corpus corpus --programs 20000 --cases FILE.jsonl

FOLDER holds the package, as `src` and the `site-packages` of an environment do. The programs are those of a corpus, of
the generator, and of JSON Lines files with the fields `id`, `code`, `target` and, if wanted, `shape` and `sink`. Each
is judged under `balanced` and `strict`. A decision is the code, the construct, the keyword and the limit. Traces, and
which of two equal findings comes first, may differ: they depend on the order of sets of texts, which differs between
two processes of one build as well. The exit code is 1 if a decision differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evalward.corpus.corpus_case import load_cases
from evalward.fuzz.plan import Plans
from evalward.fuzz.program_text import compose
from evalward.fuzz.prove import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

JUDGE = """
import json, sys
from evalward import Policy, Target, validate
from evalward.guard.interpret import dataflow
from evalward.guard.target import Profile
policies = [Policy.default().allowing(list(Target)).with_profile(Profile(name)) for name in ("balanced", "strict")]
print(json.dumps(dataflow.__file__))
for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    code = case["code"].encode("utf-8", "surrogatepass")
    said = []
    for policy in policies:
        try:
            v = validate(code, target=case["target"], shape=case.get("shape"), sink=case.get("sink"), policy=policy)
        except Exception as error:
            said.append(repr(error))
        else:
            said.append(repr((v.code, v.construct, v.keyword, v.limit)))
    print(json.dumps([case["id"], said]))
"""


def main() -> int:
    """Parse the command line, judge with both, print what differs."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folder", nargs=2, type=Path, help="where the package is")
    options.add_argument("--corpus", type=Path, help="a corpus")
    options.add_argument("--programs", type=int, default=0, help="how many programs the generator makes")
    options.add_argument("--seed", type=int, default=1, help="of the generator (default: 1)")
    options.add_argument("--cases", type=Path, nargs="*", default=(), help="JSON Lines files of programs")
    options.add_argument("--every", type=int, default=1, help="judge one program in so many (default: all)")
    chosen = options.parse_args()
    with TemporaryDirectory() as folder:
        listed = Path(folder) / "programs.jsonl"
        programs = [*_programs(chosen.corpus, chosen.programs, chosen.seed, chosen.cases)][:: chosen.every]
        listed.write_text("".join(json.dumps(each) + "\n" for each in programs), "utf-8")
        with ThreadPoolExecutor(2) as pool:
            (first, said), (second, other) = pool.map(lambda at: _judged(at, listed), chosen.folder)
    print(f"{len(programs)} programs, judged by {first} and {second}")
    differing = [(a, b) for a, b in zip(said, other, strict=True) if a != b]
    for a, b in differing:
        print(f"{a[0]}: {a[1]} and {b[1]}")
    print(f"{len(differing)} decisions differ")
    return 1 if differing else 0


def _programs(corpus: Path | None, count: int, seed: int, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for case in load_cases([corpus]) if corpus else ():
        yield {
            "id": case.id,
            "code": case.code,
            "target": case.target,
            "shape": case.shape,
            "sink": case.sink,
        }
    for number, plan in enumerate(Plans(seed).first(count)):
        program = compose(plan)
        yield {
            "id": f"program {number}",
            "code": program.text,
            "target": TARGET,
            "shape": program.shape,
            "sink": None,
        }
    for path in files:
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _judged(folder: Path, listed: Path) -> tuple[str, list[Any]]:
    """Return the file of a module of the interpreter that ran, and the decisions."""
    command = [sys.executable, "-c", JUDGE, str(listed)]
    variables = {**os.environ, "PYTHONPATH": str(folder.resolve())}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=listed.parent, env=variables
    )
    if done.returncode:
        sys.exit(f"{folder}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    first, *said = map(json.loads, done.stdout.splitlines())
    return str(first), said


if __name__ == "__main__":
    sys.exit(main())
