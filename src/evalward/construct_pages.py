"""The constructs as documents: JSON for programs, Markdown for ``docs/reference/constructs.md``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalward.errors.causes import of_construct
from evalward.guard.constructs import CONSTRUCTS
from evalward.guard.rules import Action
from evalward.printable import printable

if TYPE_CHECKING:
    from evalward.guard.constructs import Construct, Twins

SCHEMA_VERSION = 1
_SHOWN = 200
_HEAD = """# Constructs

What policy decides about, by label. This page is generated from the modules in `src/evalward/guard/constructs`:
`evalward explain --list --format markdown > docs/reference/constructs.md`. For one construct, run
`evalward explain 'process.exit'`.

Every pair of examples is a test: the first is blocked under its label in `balanced` and in `strict`, the second passes
in `balanced`. They avoid the six default keywords of the blocklist, which are looked for first and would answer
EVAL_BLOCKED_KEYWORD. Characters that are not printable are shown as escapes.
"""


def as_object(construct: Construct) -> dict[str, Any]:
    """Return the JSON object of one construct."""
    return {
        "label": construct.label,
        "title": construct.title,
        "default": construct.default.value,
        "switchable": construct.switchable,
        "targets": [target.value for target in construct.targets],
        "use_instead": [*construct.use_instead],
        "repairable": of_construct(construct.label).repairable.value,
        "page": construct.page,
        "examples": [
            {
                "target": construct.target_of(twins).value,
                "shape": twins.shape and twins.shape.value,
                "blocked": twins.blocked,
                "allowed": twins.allowed,
            }
            for twins in construct.examples
        ],
    }


def as_document() -> dict[str, Any]:
    """Return the JSON document of all constructs."""
    return {
        "schema": {"constructs": SCHEMA_VERSION},
        "constructs": [as_object(construct) for construct in CONSTRUCTS.values()],
    }


def default_of(construct: Construct) -> str:
    """Describe the default action on a construct."""
    if not construct.switchable:
        return "always blocked"
    return "off" if construct.default is Action.ALLOW else "blocked"


def where(construct: Construct, twins: Twins) -> str:
    """Say where an example is run."""
    return f"target {construct.target_of(twins)}, shape {twins.shape or 'any'}"


def shown(code: str) -> str:
    """Return an example for printing: invisible characters escaped, generated code shortened."""
    text = "\n".join(printable(line) for line in code.split("\n"))
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 8
    return f"{text[:half]} … {len(text):,} characters … {text[-half:]}"


def body(construct: Construct) -> str:
    """Return the page without its title."""
    return (construct.page or "").partition("\n")[2].strip()


def markdown() -> str:
    """Return ``docs/reference/constructs.md``."""
    rows = [
        f"| [`{each.label}`](#{each.slug}) | {each.title} | {default_of(each)} |"
        for each in CONSTRUCTS.values()
    ]
    table = "\n".join(["| construct | what | default |", "|---|---|---|", *rows])
    return "\n".join([_HEAD, f"{table}\n", *(_section(each) for each in CONSTRUCTS.values())])


def _section(construct: Construct) -> str:
    targets = ", ".join(f"`{target}`" for target in construct.targets)
    lines = [
        f'<a id="{construct.slug}"></a>\n\n## `{construct.label}`\n',
        f"{construct.title}. Default: {default_of(construct)}. Targets: {targets}.\n",
        f"{body(construct)}\n",
        "Next actions in the envelope:\n",
        *(f"- {action}" for action in construct.use_instead),
        "",
    ]
    for twins in construct.examples:
        lines += [
            f"Blocked, then allowed ({where(construct, twins)}):\n",
            f"```js\n{shown(twins.blocked)}\n```\n\n```js\n{shown(twins.allowed)}\n```\n",
        ]
    return "\n".join(lines)
