"""Makes a colour of an owner readable on the pages, in the light and the dark scheme.

The colour is mixed with black or white, as little as needed, until texts in it have the contrast that WCAG 2.2 demands (1.4.3, level AA)
on the backgrounds of the scheme. Texts on the colour are black or white, whichever contrasts more: one of them always has more than 4.5.
Source: WCAG 2.2, definitions of relative luminance and contrast ratio.
"""

from typing import Final

MIN_CONTRAST: Final = 4.5
Colour = tuple[int, int, int]

_WHITE: Final[Colour] = (255, 255, 255)
_BLACK: Final[Colour] = (0, 0, 0)
# of search.css: --paper and --raised of the schemes
_LIGHT: Final[tuple[Colour, ...]] = (_WHITE, (0xF4, 0xF7, 0xF7))
_DARK: Final[tuple[Colour, ...]] = ((0x14, 0x19, 0x1A), (0x1C, 0x23, 0x25))
_STEPS: Final = 100


def write_scheme(accent: str) -> str:
    """Returns the style sheet that sets a colour for both schemes. Shape: ``accent`` is ``#rgb`` or ``#rrggbb``."""
    colour = read_colour(accent)
    return (
        f":root {{ {_declare(adapt(colour, _LIGHT, _BLACK))} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_declare(adapt(colour, _DARK, _WHITE))} }} }}\n"
    )


def read_colour(text: str) -> Colour:
    """Returns the parts of ``#rgb`` or ``#rrggbb``."""
    digits = text.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def adapt(colour: Colour, backgrounds: tuple[Colour, ...], towards: Colour) -> Colour:
    """Returns the colour, mixed with another one until it is readable on all backgrounds."""
    for step in range(_STEPS + 1):
        mixed = _mix(colour, towards, step / _STEPS)
        if all(find_contrast(mixed, background) >= MIN_CONTRAST for background in backgrounds):
            return mixed
    return towards


def find_contrast(one: Colour, other: Colour) -> float:
    """Returns the contrast ratio of two colours. Units: 1 to 21."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _declare(accent: Colour) -> str:
    on_accent = max(_WHITE, _BLACK, key=lambda text: find_contrast(text, accent))
    return f"--accent: {_write(accent)}; --on-accent: {_write(on_accent)};"


def _write(colour: Colour) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


def _mix(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(part + (wanted - part) * share) for part, wanted in zip(colour, other, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    red, green, blue = (part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
