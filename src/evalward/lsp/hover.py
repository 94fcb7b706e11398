"""The page of a construct as a hover, in Markdown."""

from __future__ import annotations

from evalward.construct_pages import body, default_of, shown
from evalward.guard.constructs import construct_of


def hover(name: str) -> str | None:
    """Return the page of the construct with this label; None if there is none, as for a keyword or a code."""
    construct = construct_of(name)
    if construct is None:
        return None
    parts = [f"**`{construct.label}`** {construct.title}. Default: {default_of(construct)}.", body(construct)]
    if construct.use_instead:
        parts.append("\n".join(f"- {each}" for each in construct.use_instead))
    parts += [
        f"Blocked:\n```js\n{shown(twins.blocked)}\n```\nAllowed:\n```js\n{shown(twins.allowed)}\n```"
        for twins in construct.examples[:1]
    ]
    return "\n\n".join(each for each in parts if each)
