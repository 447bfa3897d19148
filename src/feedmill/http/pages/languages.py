"""The languages of the pages: which of them a request gets, and its texts, numbers and dates.

- ``lang=`` chooses a language, else the browser by ``Accept-Language``, else it is English. An unknown value of either is passed over.
- A tag finds the catalogue of its language, whatever its region: ``de-AT`` finds ``de``. Chinese is found by its script, which a region
  implies: ``zh-TW`` finds ``zh-Hant``.
- The catalogues are the ``.po`` files beside this package. They are read when their language is first needed, and cached.

Source: RFC 9110, 12.5.4 (Accept-Language); RFC 4647, 3.4 (lookup); CLDR by Babel.
"""

import gettext
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Final

from babel import Locale, UnknownLocaleError
from babel.dates import format_date, format_skeleton
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal
from babel.units import format_unit

from feedmill.model.messages import Message

CATALOGUES: Final = Path(__file__).parents[1] / "catalogues"
PARAMETER: Final = "lang"
DEFAULT: Final = "en"
MAX_HEADER: Final = 1_000

# English for all regions: a day stands before its month
_LOCALES: Final = {"en": "en_001"}
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")
_SIZES: Final = (("digital-gigabyte", 10**9), ("digital-megabyte", 10**6), ("digital-kilobyte", 10**3))
_DIRECTION_MARKS: Final = re.compile("[\u061c\u200e\u200f]")
_JOINED_UNIT: Final = re.compile(r"([0-9])([A-Za-z]{1,20})|([A-Za-z]{1,20})([0-9])")
_OLDER_CODES: Final = {"iw": "he", "in": "id", "ji": "yi"}


@dataclass(frozen=True, slots=True, eq=False)
class PageLanguage:
    """A language of the pages. Shape: ``tag`` is that of BCP 47, ``direction`` is ``ltr`` or ``rtl``."""

    tag: str
    locale: Locale
    translations: gettext.NullTranslations

    @property
    def direction(self) -> str:
        """The direction of the script."""
        return self.locale.text_direction

    def gettext(self, template: str) -> str:
        """Returns a template in this language, with its placeholders."""
        return self.translations.gettext(template)

    def translate(self, text: str) -> str:
        """Returns a text of the program in this language, with numbers and dates as it writes them; any other text as it is."""
        if not isinstance(text, Message):
            return text
        values = {name: self._write(value) for name, value in text.values.items()}
        count = text.values.get("count")
        if text.plural and isinstance(count, int):
            return self.translations.ngettext(text.template, text.plural, count) % values
        return self.translations.gettext(text.template) % values

    def _write(self, value: object) -> object:
        match value:
            case Message():
                return self.translate(value)
            case date():
                return self.write_date(value)
            case int() | float():
                return self.write_number(value)
            case _:
                return value

    def write_number(self, number: float, pattern: str | None = None) -> str:
        """Returns a number. Shape: ``pattern`` is one of CLDR, such as ``0.000``."""
        return _format_number(number, pattern, self.locale)

    def write_date(self, day: date | datetime) -> str:
        """Returns a day."""
        return format_date(day, "medium", locale=self.locale)

    def write_size(self, size: int) -> str:
        """Returns a size, rounded. Units: bytes."""
        unit, factor = next((one for one in _SIZES if size >= one[1]), _SIZES[-1])
        number = max(size / factor, 1)
        return _format_size(round(number, 1 if number < 10 and factor > 1_000 else 0), unit, self.locale)

    def write_month(self, day: date) -> str:
        """Returns the month of a day, with its year."""
        return format_skeleton("yMMMM", day, locale=self.locale)

    def write_year(self, day: date) -> str:
        """Returns the year of a day."""
        return format_skeleton("y", day, locale=self.locale)

    def name_language(self, code: str) -> str:
        """Returns the name of a language by its code, the code itself if it has none."""
        return self.locale.languages.get(code.replace("-", "_")) or code


@lru_cache(maxsize=10_000)
def _format_size(number: float, unit: str, locale: Locale) -> str:
    text = format_unit(number, unit, length="short", format="0.#", locale=locale)
    # CLDR joins Latin units to numbers in Hebrew and Korean; in Hebrew with marks of direction, and one kilobyte in the order of sight
    return _JOINED_UNIT.sub(lambda found: f"{found[1] or found[4]}\u00a0{found[2] or found[3]}", _DIRECTION_MARKS.sub("", text))


# A page with long facets has hundreds of numbers, most of them small.
@lru_cache(maxsize=10_000)
def _format_number(number: float, pattern: str | None, locale: Locale) -> str:
    return format_decimal(number, pattern, locale=locale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The language of a request. ``is_explicit``: ``lang=`` named it, so links repeat it."""

    language: PageLanguage
    is_explicit: bool = False


@cache
def list_tags() -> tuple[str, ...]:
    """Lists the languages of the pages by their tags."""
    return (DEFAULT, *sorted(path.stem for path in CATALOGUES.glob("*.po") if path.stem != DEFAULT))


@cache
def get_language(tag: str) -> PageLanguage:
    """Returns the language of a tag of ``list_tags``."""
    locale = Locale.parse(_LOCALES.get(tag, tag.replace("-", "_")))
    if tag == DEFAULT:
        return PageLanguage(tag, locale, gettext.NullTranslations())
    compiled = BytesIO()
    with (CATALOGUES / f"{tag}.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=locale))
    compiled.seek(0)
    return PageLanguage(tag, locale, gettext.GNUTranslations(compiled))


def choose_language(wanted: str, accepted: str) -> Choice:
    """Returns the language for the value of ``lang=`` and that of ``Accept-Language``. Errors: none, whatever the texts."""
    tag = find_tag(wanted)
    if tag is not None:
        return Choice(language=get_language(tag), is_explicit=True)
    found = (find_tag(one) for one in read_accepted(accepted))
    return Choice(language=get_language(next((tag for tag in found if tag is not None), DEFAULT)))


def read_accepted(header: str) -> list[str]:
    """Returns the tags of ``Accept-Language``, the most wanted first, without those of weight 0."""
    weighted = []
    for part in header[:MAX_HEADER].split(","):
        tag, _, parameters = part.partition(";")
        weight = _read_weight(parameters)
        if weight > 0:
            weighted.append((weight, tag.strip()))
    return [tag for _, tag in sorted(weighted, key=lambda one: -one[0])]


def _read_weight(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    return float(value) if re.fullmatch(r"\s*(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\s*", value) else 0.0


def find_tag(text: str) -> str | None:
    """Returns the tag of the catalogue for a language tag, None if there is none or the text is no tag."""
    if _TAG.fullmatch(text) is None:
        return None
    folded = text.lower().replace("_", "-")
    language, _, rest = folded.partition("-")
    language = _OLDER_CODES.get(language, language)
    if language == "zh":
        return _find_chinese(rest)
    return language if language in list_tags() else None


def _find_chinese(rest: str) -> str | None:
    script = next((part.title() for part in rest.split("-") if part in ("hans", "hant")), "")
    if not script:
        try:
            script = Locale.parse(f"zh_{rest.upper()}".rstrip("_")).script or "Hans"
        except (UnknownLocaleError, ValueError):
            script = "Hans"
    return f"zh-{script}" if f"zh-{script}" in list_tags() else None


def show_parameter(choice: Choice) -> Mapping[str, str]:
    """Returns the parameter that links repeat, so that the next page has the same language."""
    return {PARAMETER: choice.language.tag} if choice.is_explicit else {}
