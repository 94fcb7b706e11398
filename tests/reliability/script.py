"""The command line of the scripts in this folder: their parser, and the output of their figures."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a script with the docstring ``doc``."""
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)


def report(figures: Any) -> bool:
    """Print ``figures``, a dataclass with the property ``passed``, as one JSON line; return ``passed``."""
    sys.stdout.write(json.dumps({**asdict(figures), "passed": figures.passed}) + "\n")
    sys.stdout.flush()
    return bool(figures.passed)
