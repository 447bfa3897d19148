"""Translates a query of the Thunderstone appliance, and the parameters that narrow it, into the query language of this server.

``OR`` of this server binds tighter than the blank, so a query is a conjunction of alternatives. "Any m of k terms" is such a conjunction
too: of each k - m + 1 terms at least one occurs.
Source: Thunderstone Search Appliance Manual, "Query Syntax" (logic operators) and "Search Parameters" (``tq``, ``uq``, ``dq``, ``mtq``,
``mdlt``, ``mdgt``).
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from itertools import combinations
from math import comb
from typing import Final

from feedmill.core.ranking.indexterms import list_endings
from feedmill.core.text.dates import parse_date

MAX_CLAUSES: Final = 60
MAX_TERMS: Final = 200
MAX_PARAMETER_CHARACTERS: Final = 2_000

_TOKEN: Final = re.compile(
    r"""@(?P<more>[0-9]{1,4})(?=\s|$)
      | (?P<sign>[+-]?) ~? (?: \((?P<set>[^()]*)\) | (?P<phrase>"[^"]*"?) | (?P<word>[^\s()"]+) )""",
    re.VERBOSE,
)
_LITERAL: Final = re.compile(r"[^\s*?\"]+")
_SITE: Final = re.compile(r"https?://(?P<place>[^*?\s\"]+/)\*+", re.IGNORECASE)
_DEPTH: Final = re.compile(r"[0-9]{1,9}")
_OPERATOR: Final = re.compile(r"[a-z]{2,10}:", re.IGNORECASE)


def translate_query(query: str) -> str:
    """Returns the query in the language of this server.

    ``+term`` and ``term`` are required, ``-term`` excluded, ``(a,b)`` alternatives, ``@N`` any N + 1 of the terms without a sign. ``~``
    before a term asks for its synonyms and changes nothing: synonyms apply by the settings.
    """
    plain: list[str] = []
    others: list[str] = []
    more: int | None = None
    for number, token in enumerate(_TOKEN.finditer(query)):
        if number == MAX_TERMS:
            break
        if token["more"] is not None:
            more = int(token["more"])
            continue
        text = _write_term(token)
        if not text:
            continue
        if token["sign"] or _OPERATOR.match(text):
            others.append(f"-{text}" if token["sign"] == "-" else text)
        else:
            plain.append(text)
    return " ".join([*_require_some(plain, more), *others])


def write_restrictions(values: Mapping[str, str]) -> str:
    """Returns what ``tq``, ``uq``, ``dq``, ``mtq``, ``mdlt`` and ``mdgt`` require, in this server's language.

    An unreadable date or depth is ignored.
    """
    given = {name: values.get(name, "")[:MAX_PARAMETER_CHARACTERS].strip() for name in ("tq", "uq", "dq", "mtq", "mdlt", "mdgt")}
    parts = [_restrict_title(given["tq"]), _restrict_url(given["uq"]), _restrict_depth(given["dq"]), _restrict_type(given["mtq"])]
    parts.append(_restrict_days(given["mdgt"], given["mdlt"]))
    return " ".join(part for part in parts if part)


def _write_term(token: re.Match[str]) -> str:
    if token["set"] is not None:
        members = [" ".join(member.replace('"', " ").split()) for member in token["set"].split(",")]
        quoted = [f'"{member}"' if " " in member else member for member in members if member]
        # an exclusion of alternatives excludes each
        return " -".join(quoted) if token["sign"] == "-" else " OR ".join(quoted)
    if token["phrase"] is not None:
        bare = token["phrase"].strip('"').strip()
        return f'"{bare}"' if bare else ""
    return str(token["word"])


def _require_some(plain: list[str], more: int | None) -> list[str]:
    """Returns clauses by which ``more`` + 1 of the terms are required; all of them if ``more`` is None."""
    if more is None or more + 1 >= len(plain):
        return plain
    size = len(plain) - more
    if comb(len(plain), size) > MAX_CLAUSES:
        return [" OR ".join(plain)]
    return [" OR ".join(chosen) for chosen in combinations(plain, size)]


def _restrict_title(text: str) -> str:
    restricted = []
    for token in list(_TOKEN.finditer(text))[:MAX_TERMS]:
        if token["word"] or token["phrase"]:
            term = _write_term(token)
            sign = "-" if token["sign"] == "-" else ""
            restricted += [f"{sign}intitle:{term}"] if term else []
    return " ".join(restricted)


def _restrict_url(pattern: str) -> str:
    """Returns restrictions that hold for every URL of a pattern: a beginning is a site, other parts stand in the URL."""
    whole = _SITE.fullmatch(pattern)
    if whole is not None:
        return f"site:{whole['place']}"
    literals = [part.strip("/.") for part in _LITERAL.findall(pattern)]
    return " ".join(f'inurl:"{literal}"' for literal in literals if any(character.isalnum() for character in literal))


def _restrict_depth(text: str) -> str:
    """Excludes what is deeper: a document whose depth is not known stays."""
    return f"-inmeta:depth:{int(text) + 1}.." if _DEPTH.fullmatch(text) else ""


def _restrict_type(mimetype: str) -> str:
    endings = list_endings(mimetype)
    if not mimetype:
        return ""
    return " OR ".join(f"filetype:{ending}" for ending in endings) if endings else f'filetype:"{mimetype}"'.replace('""', '"')


def _restrict_days(later: str, earlier: str) -> str:
    low, high = parse_date(later), parse_date(earlier)
    if low is None and high is None:
        return ""
    # the end is exclusive: midnight belongs to the day that begins
    first = "" if low is None else low.date().isoformat()
    last = "" if high is None else (high - timedelta(microseconds=1)).date().isoformat()
    return f"daterange:{first}..{last}"
