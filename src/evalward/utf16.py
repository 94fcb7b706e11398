"""Offsets as editors count them: in UTF-16 code units, where the guard counts bytes of UTF-8."""


def utf16_length(text: str) -> int:
    """Return the length of ``text`` in UTF-16 code units."""
    return len(text) + sum(ord(char) > 0xFFFF for char in text)  # noqa: PLR2004 - the basic plane


def utf16_offset(code: bytes, byte_offset: int) -> int:
    """Return how many UTF-16 code units of ``code`` (UTF-8) are before ``byte_offset``."""
    before = code[:byte_offset].decode("utf-8", "surrogatepass")
    return len(before) if before.isascii() else utf16_length(before)
