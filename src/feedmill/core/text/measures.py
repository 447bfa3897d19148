"""Parses numbers as people write them, with their units.

- Commas, dots, apostrophes or blanks separate thousands, in groups of three (in India of two, then three). A point or a comma precedes a
  fraction. If both occur, the last one is the decimal sign: ``1,299.00`` and ``1.299,00`` are one number.
- ``1,299`` and ``1.299`` are ambiguous. By default the comma separates thousands and the point a fraction. In a language with the opposite
  convention both readings count. Three digits after the sign are no fraction of money.
- Decimals joined by commas are a list (``0.125,0.250``). Digits that are joined in any other way are no number: versions and addresses
  (``1.2.3``, ``10.0.0.1``), times, telephone numbers. The year of a date is a number. ``10-20 kg`` is two numbers.
- A unit follows its number directly or after one blank. A currency, or a unit in a heading (``Weight (kg): 50``), precedes it. Digits that
  are joined to other letters (``v2``, ``3f0a``, ``300b``) are no number. Nor are numbers of 10^15 or more, since not all of them can be
  distinguished from their neighbours.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from feedmill.core.text.units import CURRENCIES, find_leading_unit, find_unit, find_word_unit

MAX_NUMBER = 1e15
MAX_VALUE_CHARACTERS = 60
MAX_TEXT_NUMBERS = 2_000
MAX_TEXT_PLACES = 20_000
MAX_TEXT_CHARACTERS = 2_000_000
_MAX_DIGITS = 60  # digits with their separators
_MAX_UNIT = 14  # letters
_WHOLE_DIGITS = 15  # every whole number of so many digits is exact as a float

# languages that write a comma before a fraction, at least in some of their countries; below, those of them that separate thousands by
# blanks
_COMMA_LANGUAGES = frozenset(
    "af az be bg bs ca cs da de el es et eu fi fr gl hr hu hy id is it ka kk lt lv mk nb nl nn no "
    "pl pt ro ru sk sl sq sr sv tr uk vi".split()
)
_BLANK_LANGUAGES = frozenset("be bg cs et fi fr hu kk lt lv nb nn no pl ru sk sv uk".split())
# money that is counted to a tenth of its smallest coin, such as fuel prices: ``$1.299``, while ``1.299 €`` means thousands
_POINT_MONEY = frozenset("usd gbp yen aud cad nzd hkd sgd inr".split())

_HARD_GAPS = "\u00a0\u2007\u2009\u202f"
_QUOTES = "'\u2019"
_SIGNS = "$€£¥￥₹₩₽₴₺₪฿₫"
_LETTER = r"[^\W\d_]"
_UNIT = rf"(?:[%‰℃℉{_SIGNS}]|°?{_LETTER}(?:{_LETTER}|/(?={_LETTER})|[.-](?={_LETTER})){{0,{_MAX_UNIT - 1}}}[²³23$]?)"
# Matches the first digit and only then looks back: searching for a character is a hundred times faster than searching for a position. So
# all digits are zeros first, and all gaps and quotes the same.
_TEXT_NUMBER = re.compile(
    r"""0(?<![0A-Za-z_.,].)
    (?: 0{0,2}(?:[\ \xa0]000)+(?:[.,]0{1,2})?(?![.,:/']?0)
      | 0*(?:[.,:/'-]0+)* )""",
    re.VERBOSE,
)
_TO_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_SAME_SIGNS = [(gap, _HARD_GAPS[0]) for gap in _HARD_GAPS[1:]] + [(quote, _QUOTES[0]) for quote in _QUOTES[1:]]
_PHONE = re.compile(r"\+[0-9]{1,3}[ ./(-][0-9 ./()-]{6,}|\(\+?[0-9]{1,5}\)[ -]?[0-9]{2,}[0-9 ./-]{3,}")
_BEHIND = re.compile(rf"[ {_HARD_GAPS}-]?({_UNIT})(?!\w)")
_HEADING = re.compile(rf"[(\s]({_UNIT})(?:\)|:|\):)$")
_HEADING_CHARACTERS = 16
_LETTERED_SIGN = re.compile(rf"(?<!\w){_LETTER}{{1,2}}[{_SIGNS}]$")
_DATE = re.compile(r"([0-9]{4})([-/.])[0-9]{1,2}\2[0-9]{1,2}|[0-9]{1,2}([-/.])[0-9]{1,2}\3([0-9]{4})")
_VALUE = re.compile(
    rf"""\s*(?P<minus>[-+\u2212]?)\s?(?P<before>{_LETTER}{{0,2}}[{_SIGNS}]|[A-Za-z]{{3}})?\s?
    (?P<digits>[0-9](?:[0-9.,{_QUOTES}\s]*[0-9])?)\s?(?P<behind>{_UNIT})?\s*""",
    re.VERBOSE,
)
_GROUPED = {
    ",": re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}"),
    **{sign: re.compile(rf"[0-9]{{1,3}}(?:{re.escape(sign)}[0-9]{{3}})+") for sign in (".", *_QUOTES, *_HARD_GAPS, " ")},
}
_DIVIDERS = re.compile("[^0-9]")
# decimals joined by commas without blanks, as programs write points and ranges
_DECIMALS = re.compile(r"[0-9]+\.[0-9]+(?:,[0-9]+\.[0-9]+)+")


class Quantity(NamedTuple):
    """A number and its unit by its name in ``units``, "" for none."""

    number: float
    unit: str = ""


def read_measure(text: str) -> Quantity | None:
    """Returns the number and unit that a whole text consists of, None if it is no number."""
    found = _VALUE.fullmatch(text) if len(text) <= MAX_VALUE_CHARACTERS else None
    if found is None:
        return None
    units = [find_unit(written) for written in (found["before"], found["behind"]) if written]
    if None in units or len(set(units)) > 1 or (found["before"] and units[0] not in CURRENCIES):
        return None
    unit = units[0] or "" if units else ""
    readings = _read_digits(found["digits"], unit, has_comma=False)
    if not readings:
        return None
    # avoids minus zero
    return Quantity(-readings[0] if found["minus"] in ("-", "\u2212") and readings[0] else readings[0], unit)


def read_number(text: str) -> float | None:
    """Returns the number that a whole text consists of, whatever its unit; None if it is no number."""
    measure = read_measure(text)
    return None if measure is None else measure.number


def read_range(low: str, high: str) -> tuple[float | None, float | None, str] | None:
    """Returns both ends of a range of numbers, "" for an open end, and its unit; None for an invalid range.

    A unit at one end applies to both; two different units are invalid.
    """
    ends = [read_measure(end) for end in (low, high) if end]
    units = {end.unit for end in ends if end is not None and end.unit}
    if not ends or None in ends or len(units) > 1:
        return None
    return read_number(low), read_number(high), next(iter(units), "")


def measures_of_text(text: str, language: str | None = None) -> list[Quantity]:
    """Returns the different numbers of a text, without their signs. Their number is bounded."""
    has_comma = language in _COMMA_LANGUAGES
    different = dict.fromkeys(_iter_written(text))
    measures: dict[Quantity, None] = {}
    for written, unit in different:
        if written.isdigit():
            if len(written) <= _WHOLE_DIGITS:
                measures[Quantity(float(written), unit)] = None
            continue
        for clump, of_unit in _list_clumps(written, unit, language or ""):
            measures |= {Quantity(number, of_unit): None for number in _read_digits(clump, of_unit, has_comma=has_comma)}
    return list(islice(measures, MAX_TEXT_NUMBERS))


def _iter_written(text: str) -> Iterator[tuple[str, str]]:
    """Yields the candidates for numbers in a text, each with its unit."""
    # Numbers inside of a telephone number are skipped.
    behind_phone = 0
    for start, end in islice(_iter_places(text), MAX_TEXT_PLACES):
        if start < behind_phone:
            continue
        if start and text[start - 1] in "+(" and (phone := _PHONE.match(text, start - 1)) is not None:
            behind_phone = phone.end()
            continue
        unit = _find_unit_behind(text, end) if end - start <= _MAX_DIGITS else None
        if unit is not None:
            yield text[start:end], unit or _find_unit_before(text, start)


def _iter_places(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each candidate for a number."""
    text = text[:MAX_TEXT_CHARACTERS]
    if not text.isascii():
        for sign, same in _SAME_SIGNS:
            text = text.replace(sign, same)
    # one byte for each character, so that places stay: any other letter or sign becomes a question mark, which is part of no number
    zeros = text.encode("latin-1", "replace").translate(_TO_ZEROS).decode("latin-1")
    return (found.span() for found in _TEXT_NUMBER.finditer(zeros))


def _find_unit_behind(text: str, end: int) -> str | None:
    """Returns the unit after a number, "" for none; None if the number is part of a word."""
    follower = text[end : end + 1]
    if not follower or follower in "\n.,;:)":
        return ""
    if follower == " ":
        # what the expression below would match, for most numbers in prose
        word, blank, _ = text[end + 1 : end + _MAX_UNIT + 2].partition(" ")
        if blank and word.isascii() and word.isalpha():
            return find_word_unit(word) or ""
    found = _BEHIND.match(text, end)
    if found is not None and found.start(1) > end:
        return find_word_unit(found[1]) or ""
    if found is not None and (unit := find_unit(found[1])) is not None:
        return unit
    # Scripts without blanks between words, whose unit follows directly.
    if follower >= "\u0e00":
        return find_leading_unit(text[end : end + 2]) or ""
    return None if follower.isalnum() or follower == "_" else ""


def _find_unit_before(text: str, start: int) -> str:
    """Returns the currency, or the unit of a heading, before a number; "" for none."""
    near = text[start - 1 : start]
    if near and near in _SIGNS:
        return _find_currency(text, start)
    if near.isspace():
        start -= 1
        near = text[start - 1 : start]
        if near and near in _SIGNS:
            return _find_currency(text, start)
    if near and near in "):":
        heading = _HEADING.search(text[max(start - _HEADING_CHARACTERS, 0) : start])
        return (find_word_unit(heading[1]) or "") if heading else ""
    code = text[max(start - 4, 0) : start].strip() if near.isupper() else ""
    return code.lower() if len(code) == 3 and code.isupper() and code.lower() in CURRENCIES else ""


def _find_currency(text: str, end: int) -> str:
    """Returns the currency whose sign precedes a position, including letters that may belong to it (``US$``)."""
    sign = text[end - 1]
    lettered = _LETTERED_SIGN.search(text[max(end - 4, 0) : end])
    return (find_unit(lettered[0]) if lettered else None) or find_unit(sign) or ""


def _list_clumps(written: str, unit: str, language: str) -> list[tuple[str, str]]:
    """Returns the numbers that a joined text may contain, each with its unit."""
    if " " in written:
        parts = written.split(" ")
        if not parts[-1].isdigit():
            return [(written, unit)]
        apart = [*((part, "") for part in parts[:-1]), (parts[-1], unit)]
        return [(written, unit), *apart] if unit or language in _BLANK_LANGUAGES else apart
    if (day := _DATE.fullmatch(written)) is not None:
        return [(day[1] or day[4], "")]
    if ":" in written:
        return []
    if _DECIMALS.fullmatch(written) is not None:
        parts = written.split(",")
        return [*((part, "") for part in parts[:-1]), (parts[-1], unit)]
    ends = re.split("[-/]", written)
    return [(end, unit) for end in ends] if len(ends) < 3 else []


@lru_cache(maxsize=8_192)
def _read_digits(written: str, unit: str, *, has_comma: bool) -> tuple[float, ...]:
    """Returns the possible values of digits with separators, the most likely first; empty if they are no number."""
    signs = _DIVIDERS.findall(written)
    different = list(dict.fromkeys(signs))
    if len(different) > 2 or len(written) > _MAX_DIGITS:
        return ()
    if len(different) == 2:
        # Two different signs: the last one precedes the fraction, if it occurs once and the other one makes groups.
        head, sign, tail = written.rpartition(different[1])
        is_fraction = sign in ".," and sign not in head and tail.isdigit() and _is_grouped(head, different[0])
        return _numbers(f"{_without_dividers(head)}.{tail}") if is_fraction else ()
    if not different:
        return _numbers(written)
    sign = different[0]
    # A leading zero is no group: ``0,125`` is a fraction.
    is_grouped = _is_grouped(written, sign) and (len(signs) > 1 or written[0] != "0")
    if sign not in ".," or len(signs) > 1:
        return _numbers(_without_dividers(written)) if is_grouped and not _is_address(written) else ()
    fraction, whole = written.replace(",", "."), _without_dividers(written)
    if not is_grouped:
        return _numbers(fraction)
    if sign == ",":
        return _numbers(whole, fraction) if has_comma and unit not in CURRENCIES else _numbers(whole)
    if unit in CURRENCIES and unit not in _POINT_MONEY:
        return _numbers(whole)
    return _numbers(fraction, whole) if has_comma or unit in CURRENCIES else _numbers(fraction)


def _is_grouped(written: str, sign: str) -> bool:
    """Whether a sign separates thousands; a tab, a line end and other white space never do."""
    pattern = _GROUPED.get(sign)
    return pattern is not None and pattern.fullmatch(written) is not None


def _is_address(written: str) -> bool:
    parts = written.split(".")
    return len(parts) == 4 and all(int(part) < 256 for part in parts)


def _without_dividers(written: str) -> str:
    return _DIVIDERS.sub("", written)


def _numbers(*spellings: str) -> tuple[float, ...]:
    return tuple(number for number in map(float, spellings) if number < MAX_NUMBER)
