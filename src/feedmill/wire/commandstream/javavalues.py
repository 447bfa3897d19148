"""Reads arguments as the library of adaptors does, by the rules of Java: integers, booleans, trimmed names.

Source: java.lang ``Long.parseLong``, ``Boolean.parseBoolean``, ``String.trim``.
"""

import re
import unicodedata

MAX_INTEGER = 2**31 - 1
MAX_LONG = 2**63 - 1

_USUAL_DIGITS = 40

# decimal digits of any script; Java reads UTF-16 code units, so digits beyond them do not count
_INTEGER = re.compile(r"([+-]?)((?:(?![\U00010000-\U0010ffff])\d)+)")


def parse_integer(text: str, largest: int) -> int | None:
    """Returns an integer from ``-largest - 1`` to ``largest``; None for other texts."""
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    digits = found[2]
    if len(digits) > _USUAL_DIGITS:
        # int() refuses thousands of digits, of which all but the last may be zeros
        digits = "".join(str(unicodedata.decimal(digit)) for digit in digits).lstrip("0")
        if len(digits) > _USUAL_DIGITS:
            return None
    value = -int(digits or "0") if found[1] == "-" else int(digits or "0")
    return value if -largest - 1 <= value <= largest else None


def parse_seconds(text: str) -> int | None:
    """Returns the seconds of a last-modified whose milliseconds fit in 64 bits; None for other texts."""
    seconds = parse_integer(text, MAX_LONG)
    return seconds if seconds is not None and is_in_range(seconds) else None


def is_in_range(seconds: int) -> bool:
    """Returns whether the milliseconds of these seconds fit in 64 bits."""
    return -MAX_LONG - 1 <= seconds * 1_000 <= MAX_LONG


def parse_boolean(text: str | None) -> bool:
    """Returns whether a text is ``true`` in any letter case; everything else is false, also a missing argument."""
    return text is not None and text.lower() == "true"


def trim(text: str) -> str:
    """Returns a text without the control characters and spaces around it."""
    return text.strip("".join(map(chr, range(0x21))))
