"""The query language: what a user types, as a tree.

    query    = { clause }                      all clauses must hold
    clause   = term { "OR" term }              OR is upper case and binds tighter than the blank; AND between terms is the blank
    term     = [ "-" ] atom                    two hyphens exclude nothing: they begin the option of a command (``--force``)
    atom     = operator ":" value | '"' words '"' | number ".." number [ unit ] | word      quotes may be typographic ones
    operator = "site" | "inurl" | "intitle" | "intext" | "filetype" | "ext" | "daterange" | "inmeta" | "info" | "link" | "cache" | "related"

- A hyphenated word is a phrase. A value ends at white space; one in quotes may contain blanks (``inmeta:dept="legal affairs"``).
  ``core.query.inmeta`` parses the value of ``inmeta:``. A word with a leading ``+`` is not expanded and is no stop word.
- A range of numbers may have a unit, at one end or both (``$5..$10``) or as the next word (``5..10 kg``).
- The value of ``info:``, ``link:``, ``cache:`` and ``related:`` extends to the next white space, or is in quotes.
- ``allintitle:``, ``allinurl:`` and ``allintext:`` apply to every plain word and phrase after them.
- No text is an error. An operator without an operand (an OR without a term on both sides, a sign or ``site:`` without a value, a range
  without ends, an unmatched quote) is ignored. Other texts that are not valid are searched as words. Both cause a warning.
- A query of negative terms alone lists everything else; the empty query is ``MatchAll``.
- A ``*`` in or after a word means any characters of it (``core.text.wildcards``).
- Length and number of terms are bounded; the rest is omitted with a warning.
Source: Search Protocol Reference, "Query Terms" and "Special Query Terms".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date

from feedmill.core.query.inmeta import read_days, read_inmeta
from feedmill.core.query.nodes import join_all
from feedmill.core.text.measures import read_range
from feedmill.core.text.units import find_word_unit
from feedmill.core.text.wildcards import is_wildcard
from feedmill.model.messages import message
from feedmill.model.query import (
    DateRange,
    FileType,
    Info,
    InText,
    InTitle,
    InUrl,
    LinksTo,
    Node,
    Not,
    NumberRange,
    Or,
    Phrase,
    Plain,
    Related,
    Site,
    Wildcard,
    Word,
)
from feedmill.model.search import ParsedQuery

MAX_CHARACTERS = 10_000
MAX_TERMS = 50

# word processors and phones replace quotes by typographic ones; which of them opens and which closes depends on the language
_QUOTES = "“”„‟«»＂"
_TYPESET = f"[{_QUOTES}][^{_QUOTES}]*[{_QUOTES}]"
# a value in quotes may contain blanks; any other value ends at a blank
_VALUE = rf'(?:"[^"]*"|{_TYPESET}|[^\s"])+'
_TOKEN = re.compile(
    rf"""(?P<minus>(?:-(?!-)|\+)(?=[^\s]))?
    (?: (?P<operator>site|inurl|intitle|intext|filetype|ext|daterange|inmeta):(?P<value>{_VALUE})
      | (?P<exact>info|link|cache|related):(?:"(?P<quoted>[^"]*[^\s"][^"]*)"|(?P<url>\S+))
      | allin(?P<every>title|url|text):
      | "(?P<phrase>[^"]*)" | (?P<typeset>{_TYPESET})
      | (?P<quote>")
      | (?P<word>[^\s"]+) )""",
    re.VERBOSE | re.IGNORECASE,
)
# old front ends count days by Julian day numbers, as astronomers do; 2000000 to 2999999 are the years 763 to 3501
_JULIAN_DAYS = re.compile(r"(2[0-9]{6})(?:(?:-|\.\.)(2[0-9]{6}))?")
_JULIAN_OF_DAY_ZERO = 1_721_425
_HYPHENATED = re.compile(r"\w[-\u2010\u2011]\w")
# two dots; autocorrection may turn three dots into one character
_NUMBERS = re.compile(r"([^-+].*?)(?:\.{2,3}|\u2026)([^.].*)", re.DOTALL)
# not in ``std::sort``, nor at the end of a word, as in a message of an error
_UNKNOWN = re.compile(r"([a-z]{2,20}):(?!//|:|\d|$)", re.IGNORECASE)
_ALONE = re.compile(r"(site|inurl|intitle|intext|filetype|ext|daterange|inmeta|info|link|cache|related):", re.IGNORECASE)
# the value of a range operator without both ends
_NO_ENDS = re.compile(r"(?:.*:)?\.{2,3}")
_JOINS = ("AND", "OR")
_OR_ALONE = message("OR without a term on both sides was ignored")
# a range with nothing between its ends, or with a number at only one end
_OPEN_RANGE = re.compile(r"(?:.*[0-9])?(?:\.{2,3}|\u2026)|(?:\.{2,3}|\u2026)\W?[0-9].*")
# a cached copy is named by twelve letters and digits before its URL
_COPY = re.compile(r"[A-Za-z0-9_-]{12}:(?=.)")

_Placed = Callable[[str], Node]
_PLACED: dict[str, _Placed] = {"title": InTitle, "url": InUrl, "text": InText}
_SIMPLE: dict[str, _Placed] = {
    "site": Site,
    "inurl": InUrl,
    "intitle": InTitle,
    "intext": InText,
    "filetype": FileType,
    "ext": FileType,
}


@dataclass(slots=True)
class _Reading:
    clauses: list[list[Node]] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    terms: int = 0
    joins_next: bool = False
    is_last: bool = False
    is_full: bool = False
    placed: _Placed | None = None
    is_placed_out: bool = False
    unfilled: str = ""

    def warn(self, text: str) -> None:
        self.warnings[text] = None

    def add(self, node: Node) -> None:
        """Adds a term to the clause that an OR left open, or begins a new clause with it."""
        if self.terms >= MAX_TERMS:
            self.is_full = True
            self.warn(message("only the first %(count)s terms were searched", count=MAX_TERMS))
            return
        self.terms += 1
        self.unfilled = ""
        if self.joins_next:
            self.clauses[-1].append(node)
            self.joins_next = False
        else:
            self.clauses.append([node])

    def give_unit(self, word: str) -> bool:
        """Uses a word as the unit of the preceding range of numbers. Returns whether it is one."""
        last = self.clauses[-1][-1] if self.clauses and not self.joins_next and self.placed is None else None
        numbers = last.part if isinstance(last, Not) else last
        unit = find_word_unit(word) if isinstance(numbers, NumberRange) and not numbers.unit else None
        if unit is None or not isinstance(numbers, NumberRange):
            return False
        with_unit = replace(numbers, unit=unit)
        self.clauses[-1][-1] = Not(with_unit) if isinstance(last, Not) else with_unit
        return True


def _without_term(operator: str) -> str:
    return message("%(operator)s without a term was ignored", operator=operator)


def _without_value(operator: str) -> str:
    return message("%(operator)s without a value was ignored", operator=operator)


def parse_query(text: str) -> ParsedQuery:
    """Returns the tree of a query and the warnings for the user. Errors: none, whatever the text."""
    reading = _Reading()
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        reading.warn(message("only the first %(count)s characters of the query were read", count=MAX_CHARACTERS))
    # Characters that match no token, such as blanks, are skipped by ``finditer``.
    matches = list(_TOKEN.finditer(text))
    for number, match in enumerate(matches, 1):
        reading.is_last = number == len(matches)
        _read_token(match, reading)
        if reading.is_full:
            break
    # An OR at the end has no second side. A query that was cut off may have had one.
    if reading.joins_next and not reading.is_full:
        reading.warn(_OR_ALONE)
    if reading.unfilled and not reading.is_full:
        reading.warn(_without_term(reading.unfilled))
    return ParsedQuery(root=_join(reading.clauses), warnings=tuple(reading.warnings))


def list_restrictions(text: str) -> tuple[tuple[str, str], ...]:
    """Returns the terms of a query that only leave documents out, as they were written, each with the query without it.

    These are values of operators and terms with a minus. A term beside an OR is none.
    """
    matches, found = list(_TOKEN.finditer(text[:MAX_CHARACTERS])), []
    for number, match in enumerate(matches):
        beside = [other["word"] for other in matches[max(number - 1, 0) : number + 2]]
        if (match["operator"] or match["minus"] == "-") and match["every"] is None and "OR" not in beside:
            rest = f"{text[: match.start()].rstrip()} {text[match.end() :].lstrip()}".strip()
            found.append((match[0], rest))
    return tuple(found)


def _join(clauses: list[list[Node]]) -> Node:
    return join_all(clause[0] if len(clause) == 1 else Or(tuple(clause)) for clause in clauses)


def _read_token(match: re.Match[str], reading: _Reading) -> None:
    if match["quote"] is not None:
        reading.warn(message("a quote without its partner was ignored"))
        return
    if match["word"] is not None and _reads_operator(match["word"], match["minus"], reading):
        return
    if match["every"] is not None:
        reading.placed, reading.is_placed_out = _PLACED[match["every"].lower()], match["minus"] == "-"
        reading.unfilled = f"allin{match['every'].lower()}:"
        return
    node = _read_atom(match, reading)
    if node is None:
        return
    # A word behind a range of numbers may be its unit and is then no term of its own.
    if isinstance(node, Word) and not node.is_fixed and match["minus"] is None and reading.give_unit(node.text):
        return
    is_out = match["minus"] == "-"
    if reading.placed is not None and isinstance(node, Plain):
        node, is_out = reading.placed(node.text.strip()), is_out or reading.is_placed_out
    reading.add(Not(node) if is_out else node)


def _reads_operator(word: str, sign: str | None, reading: _Reading) -> bool:
    """Handles a word that is an operator without its operand. Returns whether it is one. Parentheses group nothing; users often write them
    around an OR.
    """
    bare = word.strip("()")
    if bare == "OR" and sign is None:
        if bare == word and reading.clauses and not reading.joins_next:
            reading.joins_next = True
        else:
            reading.warn(_OR_ALONE)
    elif word == "AND" and sign is None and reading.clauses and not reading.joins_next and not reading.is_last:
        # all terms must hold without it too
        return True
    elif bare in ("-", "+") and sign is None:
        reading.warn(_without_term(bare))
    elif _ALONE.fullmatch(bare):
        reading.warn(_without_value(bare.lower()))
    elif _OPEN_RANGE.fullmatch(bare):
        reading.warn(message(".. without a number on both sides was ignored"))
        # the number at one end is searched as a word
        return not any(character.isalnum() for character in bare)
    else:
        return False
    return True


def _read_atom(match: re.Match[str], reading: _Reading) -> Node | None:
    if match["operator"] is not None:
        return _read_operator(match["operator"].lower(), match["value"], reading)
    if match["exact"] is not None:
        return _read_exact(match["exact"].lower(), match["quoted"] or match["url"].lstrip('"'), reading)
    phrase = match["phrase"] if match["typeset"] is None else match["typeset"][1:-1].replace('"', " ")
    if phrase is not None:
        if phrase.strip():
            return Phrase(phrase)
        reading.warn(message("a pair of quotes without words was ignored"))
        return None
    return _read_word(match["word"], reading, is_fixed=match["minus"] == "+" or match["word"][0] in "+-" or match["word"] in _JOINS)


def _read_word(word: str, reading: _Reading, *, is_fixed: bool) -> Node:
    unknown = _UNKNOWN.match(word)
    if unknown is not None:
        reading.warn(message("%(operator)s: was searched as a word", operator=unknown[1]))
    # Before numbers and phrases: ``3*`` is a wildcard.
    if not is_fixed and is_wildcard(word):
        return Wildcard(word)
    numbers = _read_numbers(word)
    if numbers is not None:
        return numbers
    return Phrase(word) if _HYPHENATED.search(word) else Word(word, is_fixed)


def _read_numbers(word: str) -> NumberRange | None:
    found = _NUMBERS.fullmatch(word)
    ends = read_range(found[1], found[2]) if found is not None else None
    return None if ends is None or ends[0] is None or ends[1] is None else NumberRange(ends[0], ends[1], ends[2])


def _read_exact(operator: str, url: str, reading: _Reading) -> Node | None:
    url = url.strip()
    if not url:
        reading.warn(_without_value(f"{operator}:"))
        return None
    if operator == "link":
        return LinksTo(url)
    if operator == "related":
        return Related(url)
    if operator == "cache":
        reading.warn(message("cache: found the document itself"))
        return Info(_COPY.sub("", url, count=1) if _COPY.match(url) else url)
    return Info(url)


def _read_operator(operator: str, value: str, reading: _Reading) -> Node | None:
    plain = value.replace('"', "").strip()
    if not plain or _NO_ENDS.fullmatch(plain):
        reading.warn(_without_value(f"{operator}:{plain}"))
        return None
    if operator in _SIMPLE:
        return _SIMPLE[operator](plain)
    node = read_inmeta(plain) if operator == "inmeta" else _read_daterange(plain)
    if node is not None:
        return node
    words = f"{operator}:{plain}"
    reading.warn(message("%(text)s was searched as words", text=words))
    return Phrase(words)


def _read_daterange(text: str) -> Node | None:
    julian = _JULIAN_DAYS.fullmatch(text)
    if julian is not None:
        return DateRange(*(date.fromordinal(int(day) - _JULIAN_OF_DAY_ZERO) for day in (julian[1], julian[2] or julian[1])))
    low, dots, high = text.partition("..")
    days = read_days(low.strip(), high.strip() if dots else low.strip())
    return None if days is None else DateRange(*days)
