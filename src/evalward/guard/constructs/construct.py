"""What every construct declares (guard.md §3): one module, one label, one page, examples with benign twins."""

from __future__ import annotations

from dataclasses import dataclass

from evalward.guard.rules import Action
from evalward.guard.target import Shape, Target

EVERYWHERE = tuple(Target)
HOSTS = (Target.MAIN, Target.NODE)
PAGES = (Target.RENDERER,)


@dataclass(frozen=True, slots=True)
class Twins:
    """A payload that the construct's rule blocks, and a benign one that looks like it and passes.

    Both are run in ``shape`` (None: undeclared) by ``target`` (None: the first that the construct applies to).
    ``blocked`` is stopped in ``balanced`` and in ``strict``; ``allowed`` passes in ``balanced``.
    """

    blocked: str
    allowed: str
    shape: Shape | None = None
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Construct:
    """Something that policy decides about; ``label`` is its one stable id.

    ``page`` is the module's docstring: a first line that is the title, then Markdown; None where Python
    strips docstrings. ``use_instead`` are the ``next_actions`` of an envelope: whole sentences, the best first.
    ``default`` is the action without a policy. A construct that is not ``switchable`` is always blocked, because it
    hides code from the guard or exhausts the analysis. ``since`` is the first ruleset that blocks it in profile
    balanced; earlier ones audit it, so that a new block is visible for one minor release before it denies anything.
    ``wakes`` are the words, separated by blanks, that send a payload to the resolver, besides those that the
    catalogue lists under this label.
    """

    label: str
    page: str | None
    use_instead: tuple[str, ...]
    targets: tuple[Target, ...]
    examples: tuple[Twins, ...]
    default: Action = Action.BLOCK
    switchable: bool = True
    since: int = 1
    wakes: str = ""

    @property
    def title(self) -> str:
        """The page's first line without its period."""
        return (self.page or self.label).partition("\n")[0].rstrip(".")

    @property
    def slug(self) -> str:
        """The name of the construct's module and of its section in the docs."""
        return _SPECIAL_SLUGS.get(self.label) or _slug(self.label)

    def target_of(self, twins: Twins) -> Target:
        """Return the target that runs ``twins``."""
        return twins.target or self.targets[0]


# Three labels differ in what a file name cannot hold, or are a word of Python.
_SPECIAL_SLUGS = {
    "Function()": "function_call",
    "new Function()": "function_new",
    ".constructor.constructor": "constructor_chain",
    "__proto__": "proto",
    "import()": "dynamic_import",
    "with": "with_statement",
    "eval()": "eval_call",
    "require()": "require_call",
    "process.<member>": "process_member",
}


def _slug(label: str) -> str:
    return label.lower().replace(".", "_").replace("-", "_")
