"""Compare generated ordinary programs with their hardened form: result, exceptions and side effects.

python benchmarks/ordinary_programs.py --count 2000            Node, and QuickJS for every fourth
python benchmarks/ordinary_programs.py --first 137 --count 1 --show    one program and its hardened form
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from evalward.fuzz.ordinary.compare import TARGETS, Compared, compared
from evalward.fuzz.ordinary.compose import compose
from evalward.oracle import Engine
from evalward.oracle.emission import emit
from evalward.oracle.engines_per_thread import EnginesPerThread


def main() -> int:
    """Parse the command line, run, print each difference; return 1 if there is one."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--count", type=int, default=1000, help="how many programs (default: 1000)")
    options.add_argument("--first", type=int, default=0, help="the number of the first (default: 0)")
    options.add_argument(
        "--seed", type=int, default=1, help="the same seed gives the same programs (default: 1)"
    )
    options.add_argument("--show", action="store_true", help="print the programs that differ")
    chosen = options.parse_args()
    engines = EnginesPerThread(deadline=2.0)

    def one(number: int) -> tuple[int, Engine, Compared]:
        engine = Engine.QUICKJS if number % 4 == 3 else Engine.NODE
        target = TARGETS[number % len(TARGETS)]
        return (
            number,
            engine,
            compared(compose(chosen.seed, number), engines.mine(), emit, target=target, engine=engine),
        )

    try:
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(one, range(chosen.first, chosen.first + chosen.count)))
    finally:
        engines.close()
    differing = [each for each in found if each[2].differs is not None]
    for number, engine, each in differing:
        print(f"{number} ({engine}, {TARGETS[number % len(TARGETS)]}): {each.differs}")
        if chosen.show:
            print(compose(chosen.seed, number).text, each.hardened, sep="\n--- hardened:\n", end="\n\n")
    valid = sum(each.valid for _, _, each in found)
    print(f"{valid:,} of {len(found):,} programs are valid; {len(differing):,} differ hardened")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
