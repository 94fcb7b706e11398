r"""Characters that make the text look like another program.

**What.** Bidirectional controls anywhere; zero-width and other invisible characters, Hangul fillers, tag characters
and variation selectors where no script or emoji needs them. A pure check of the text. An escape such as `\u202e` is
visible and does not count. Off by default.

**Why switch it on.** A person who approves a payload must see the code that runs. The characters
also carry data: a payload can hide in a string that looks empty.

**Instead.** Write such a character as an escape.

**References.** CVE-2021-42574 ("Trojan Source", Boucher and Anderson); Unicode UAX #9 and UTS #39; the GlassWorm
campaign, which hid code in variation selectors.
"""

from typing import Final

from evalward.guard.constructs.construct import EVERYWHERE, Construct, Twins
from evalward.guard.rules import Action

LABEL: Final = "bidi"

CONSTRUCT = Construct(
    label=LABEL,
    page=__doc__,
    use_instead=("Write the character as an escape, such as \\u200b.", "Remove the invisible characters."),
    targets=EVERYWHERE,
    examples=(
        Twins("const who = 'user\u202e\u2066// admin\u2069\u2066'", "const who = 'user\\u202e // admin'"),
        Twins("const a\u3164 = 1", "const a한 = 1"),
        Twins("'a\u200bb'", "'\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e ❤\ufe0f'"),
    ),
    default=Action.ALLOW,
)
