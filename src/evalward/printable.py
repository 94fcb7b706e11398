"""Show a text of a caller, a file or a payload without effect on the terminal or page that shows it."""


def printable(text: str) -> str:
    r"""Return ``text`` on one line, with every character that is not printable written as an escape.

    That covers control characters and terminal sequences, bidirectional overrides, zero-width characters and
    lone surrogates; a tab becomes one space, so that carets stay aligned.
    """
    return "".join(c if c.isprintable() else " " if c == "\t" else _escape(c) for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()
