"""Detects UTF-16 without a byte order mark.

Markup and western text have a zero byte in nearly every pair. Texts in other scripts show two things together: bytes that are control
characters in every other charset, and pairs that are, in one of the two byte orders, nearly all characters of one script, or Latin
letters, punctuation and blanks. East Asian characters fill so much of Unicode that bytes of other texts look like them (two ASCII
letters are one, and so are two of EUC-KR). Of real East Asian pairs, one in eight ends in a control character.

Source: Unicode, "Blocks.txt".
"""

import re

_HEAD_BYTES = 4_000
_LEAST_DIFFERENT = 6
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_BYTES = frozenset(number for number in range(256) if _CONTROLS.match(bytes([number])))
# deleting them is four times as fast as searching for them
_CONTROLS_TO_DELETE = bytes(_CONTROL_BYTES)
_OF_INDIA = [f"[{chr(first)}-{chr(first + 0x7F)}]" for first in range(0x0900, 0x0E00, 0x80)]
_SCRIPTS = [
    re.compile(pattern)
    for pattern in (
        r"[\u0370-\u03ff\u1f00-\u1fff]", r"[\u0400-\u052f]", r"[\u0531-\u058f]", r"[\u0591-\u05f4]", r"[\u0600-\u077f]",
        *_OF_INDIA, r"[\u0e00-\u0e7f]", r"[\u0e80-\u0eff]", r"[\u0f00-\u0fff]", r"[\u1000-\u109f]", r"[\u10a0-\u10ff]",
        r"[\u1200-\u137f]", r"[\u1780-\u17ff]",
    )
]  # fmt: skip
_EAST_ASIAN = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_COMMON = re.compile(
    r"[\t\n\r -~\xa0-\u024f\u0300-\u036f\u1e00-\u1eff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u22ff\u2500-\u25ff"
    r"\u3000-\u3020\uff01-\uff65]"
)
_LEAST_OF_SCRIPT, _LEAST_READ = 0.4, 0.95
_LEAST_CONTROLS, _LEAST_CONTROLS_SHARE = 2, 0.06
_MOST_OF_A_KIND = 0.5


def guess_utf16(data: bytes) -> str | None:
    """Returns the codec of bytes that look like UTF-16, None for others. Shape: no byte order mark. Errors: none."""
    head = data[:_HEAD_BYTES]
    head = head[: len(head) // 2 * 2]
    # The cheapest test first: most texts have no such byte.
    if len(head) < 4 or len(head.translate(None, _CONTROLS_TO_DELETE)) == len(head):
        return None
    first, second = head[0::2], head[1::2]
    if _is_utf16(head.decode("utf-16-le", "replace"), first, second):
        return "utf-16-le"
    return "utf-16-be" if _is_utf16(head.decode("utf-16-be", "replace"), second, first) else None


def _is_utf16(text: str, low: bytes, high: bytes) -> bool:
    """Returns whether pairs of bytes, read in one order, are a text."""
    common = len(_COMMON.findall(text))
    if high.count(0) > len(low) * 0.4 and low.count(0) < len(low) * 0.1 and common >= len(text) * _LEAST_OF_SCRIPT:
        return True
    if len(set(text)) < _LEAST_DIFFERENT:
        return False
    east_asian = len(_EAST_ASIAN.findall(text))
    if _is_most(east_asian, common, len(text)):
        return _has_pairs_of_utf16(low, high)
    return any(_is_most(len(script.findall(text)), common, len(text)) for script in _SCRIPTS)


def _has_pairs_of_utf16(low: bytes, high: bytes) -> bool:
    """Returns whether pairs that could be East Asian characters end, in any byte, as these do and not as bytes of another charset."""
    wide = [pair for pair in zip(high, low, strict=True) if pair[0] >= 0x30]
    ideographs = [pair for pair in wide if pair[0] >= 0x4E]
    controls = sum(last in _CONTROL_BYTES for _, last in wide)
    ascii_pairs = sum(before < 0x7F and 0x20 <= last < 0x7F for before, last in ideographs)
    is_even = controls <= len(wide) * _MOST_OF_A_KIND and ascii_pairs <= len(ideographs) * _MOST_OF_A_KIND
    return is_even and controls + high.count(0) >= max(_LEAST_CONTROLS, len(low) * _LEAST_CONTROLS_SHARE)


def _is_most(of_script: int, common: int, of_all: int) -> bool:
    return of_script >= of_all * _LEAST_OF_SCRIPT and of_script + common >= of_all * _LEAST_READ
