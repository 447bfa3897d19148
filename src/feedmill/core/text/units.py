"""The units of numbers, with one name for all spellings of a unit: ``kg`` for ``kilos``, ``usd`` for ``$``.

Letter case never counts, so ``MB`` and ``Mb`` are both ``mb``. Yen and yuan share a sign and are one unit. Nothing is converted: a number
retains the unit that it was written with.
"""

from feedmill.core.text.wordlists import read_list

CURRENCIES = frozenset(
    "usd eur gbp yen chf inr krw rub uah try ils pln czk huf ron sek nok dkk brl zar aud cad nzd sgd hkd mxn thb vnd aed sar".split()
)
"""The units of money."""


def _read_spellings() -> dict[str, str]:
    found: dict[str, str] = {name: name for name in CURRENCIES}
    for line in read_list("units"):
        name, _, others = line.partition(":")
        found |= dict.fromkeys((name, *others.split()), name)
    return found


_UNITS = _read_spellings()
# these are also words of their own, and mean a unit only if they directly follow the number
_ATTACHED_ONLY = frozenset(("in", "a", "d", "us", "try", "second", "foot", "rs", "ps"))
# in a script without blanks, the text continues directly after its unit
_UNSPACED = tuple(spelling for spelling in _UNITS if spelling[0] >= "\u3000")


def find_unit(text: str) -> str | None:
    """Returns the unit that a text means in any spelling, None if it means none."""
    return _UNITS.get(text.lower())


def find_word_unit(text: str) -> str | None:
    """Returns the unit that a separate word next to a number means; None if it means none, or often means something else."""
    return None if text.lower() in _ATTACHED_ONLY else find_unit(text)


def find_leading_unit(text: str) -> str | None:
    """Returns the unit at the beginning of a text in a script without blanks, None if there is none."""
    return next((_UNITS[spelling] for spelling in _UNSPACED if text.startswith(spelling)), None)


def write_unit(unit: str) -> str:
    """Returns a unit for display: a currency by its code."""
    return unit.upper() if unit in CURRENCIES and unit != "yen" else unit


def accepts_unit(wanted: str, found: str) -> bool:
    """Whether a range with a unit ("" for any) includes a number with a unit ("" for none). Shape: a price may lack its sign."""
    return not wanted or wanted == found or (not found and wanted in CURRENCIES)


def unit_pattern(wanted: str) -> str:
    """Returns the regular expression for the units that ``accepts_unit`` accepts."""
    if not wanted:
        return "[0-9a-z]*"
    return f"({wanted})?" if wanted in CURRENCIES else wanted
