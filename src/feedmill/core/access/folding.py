"""Folds text so that names compare equal whatever their letter case, width or ligatures: Unicode's NFKC_Casefold.

Rules:

1. Each character is mapped separately. Full case folding, compatibility composition (NFKC) and the removal of default-ignorable code points
   (soft hyphen, zero-width characters, variation selectors ...) are repeated until nothing changes.
2. The results are joined and normalized to NFC, since neighbours may combine.

``str.casefold`` performs only the first step of the first rule: it retains the soft hyphen and full-width letters.
Source: The Unicode Standard, 3.13, R5 "toNFKC_Casefold"; UAX #44, "NFKC_Casefold", "Default_Ignorable_Code_Point".
"""

from unicodedata import normalize

_IGNORABLE_RANGES = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 14.0; reserved ranges belong to it."""

_IGNORABLE = frozenset(chr(code) for first, last in _IGNORABLE_RANGES for code in range(first, last + 1))


class _Mapping(dict[int, str]):
    """Caches the mapping of single characters; bounded by the number of code points."""

    def __missing__(self, code: int) -> str:
        text = chr(code)
        while True:
            # NFKC may produce letters that have another case, such as Latin ones from mathematical letters; hence the loop.
            folded = normalize("NFKC", "".join(char for char in text.casefold() if char not in _IGNORABLE))
            if folded == text:
                break
            text = folded
        self[code] = text
        return text


_MAPPING = _Mapping()


def fold(text: str) -> str:
    """Returns the form in which texts are equal if they differ only in letter case, width or ignorable characters.

    Errors: none. Source: The Unicode Standard, 3.13, R5.
    """
    # No ASCII character is ignorable or has another normalized form, so lower case is all of the mapping.
    if text.isascii():
        return text.lower()
    # ``translate`` maps each character by itself. Only after it can neighbours combine (rule 2).
    return normalize("NFC", text.translate(_MAPPING))
