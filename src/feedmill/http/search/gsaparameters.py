"""The parameters of ``/search`` as old front ends send them.

No value is an error: a number that is none, or below one for ``num``, becomes the default; one that is too large the largest. Everything
that was sent is told back, known or not: with the value that was used, and as it came, still percent-encoded.
Source: Search Protocol Reference, "Request Format".
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, unquote_to_bytes

from feedmill.http.search.parameters import DEFAULT_NUM, MAX_NUM, read_number, read_search
from feedmill.model.results import Collapsing
from feedmill.model.search import Match, SearchRequest
from feedmill.wire.results.charsets import decode, find_charset, find_charset_read
from feedmill.wire.results.gsaxml import Parameter

MAX_PAIRS = 500
MAX_ECHOED = 10_000
ACCESS = ("p", "s", "a")
UNCOLLAPSED = Collapsing(snippets=False, directories=False)
_COLLAPSING = {
    "0": UNCOLLAPSED,
    "p": Collapsing(directories=False),
    "s": Collapsing(snippets=False),
}
_KNOWN = frozenset(
    "q site client output proxystylesheet proxyreload proxycustom access num start filter ie oe lr sort requiredfields partialfields"
    " getfields as_q as_epq as_oq as_eq as_occt as_sitesearch as_dt as_filetype as_ft as_lq rc secure_estimates numgm dnavs entqr"
    " sitesearch match tlen ud entqrm entsp exclude_apps btnG gsaRequestID inlang ulang wc wc_mc".split()
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A name and its value as they came, percent-encoded."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a front end asks for. ``access`` is p, s or a."""

    values: Mapping[str, str]
    pairs: tuple[Pair, ...]
    request: SearchRequest
    access: str
    collapsing: Collapsing

    @property
    def shows_total(self) -> bool:
        """Whether the number of results may be told: not that of a secure search, unless an estimate is asked for."""
        return self.access == "p" or self.values.get("secure_estimates") == "1"


def split_pairs(query: bytes) -> tuple[Pair, ...]:
    """Splits a query string, or a posted form, without decoding it."""
    parts = [part.partition("=") for part in query.decode("latin-1").split("&")[:MAX_PAIRS] if part]
    return tuple(Pair(name, value) for name, _, value in parts)


def read_wanted(pairs: Sequence[Pair]) -> Wanted:
    """Reads what was sent; of a name sent twice the last counts."""
    charset = next((pair.value for pair in reversed(pairs) if pair.name == "ie"), None)
    values = {_decode(pair.name, charset): _decode(pair.value, charset) for pair in pairs}
    read = read_search(values)
    access = values.get("access", "").strip().lower()
    request = replace(
        read,
        num=_read_num(values.get("num", "")),
        match=read.match if values.get("match") else Match.ALL,
        has_frontend_facets=True,
    )
    return Wanted(
        values=values,
        pairs=tuple(pairs),
        request=request,
        access=access if access in ACCESS else "p",
        collapsing=_COLLAPSING.get(values.get("filter", "").strip().lower(), Collapsing()),
    )


def _decode(raw: str, charset: str | None) -> str:
    return decode(unquote_to_bytes(raw.replace("+", " ").encode("latin-1")), unquote(charset) if charset else None)


def _read_num(text: str) -> int:
    return read_number(text, default=DEFAULT_NUM, at_most=MAX_NUM) or DEFAULT_NUM


# --- what is told back ----------------------------------------------------------------------------------------------------------


def echo_parameters(wanted: Wanted, client: str, start: int | None = None) -> tuple[Parameter, ...]:
    """Returns the parameters as the answer tells them back.

    Shape: ``client`` is the asker's address, "" where it is not known; ``start`` where the page begins, None as it was asked for.
    """
    used = {
        "num": str(wanted.request.num),
        "start": str(wanted.request.start if start is None else start),
        "access": wanted.access,
        "oe": find_charset(wanted.values.get("oe", "")).name,
        "ie": find_charset_read(wanted.values.get("ie", "")).name,
    }
    charset = wanted.values.get("ie")
    told = [_echo(pair, used, charset) for pair in wanted.pairs if pair.name != "ip"]
    return (*told, *([Parameter(name="ip", value=client, original=client)] if client else []))


def _echo(pair: Pair, used: Mapping[str, str], charset: str | None) -> Parameter:
    name, value = _decode(pair.name, charset), _decode(pair.value, charset)
    shown = used.get(name, value if name in _KNOWN else re.sub(r"\s", "_", value))
    return Parameter(name=name[:MAX_ECHOED], value=shown[:MAX_ECHOED], original=pair.value[:MAX_ECHOED])


def page_url(wanted: Wanted, start: int) -> str:
    """Returns the relative URL of another page of the same search."""
    kept = [f"{_ascii(pair.name)}={_ascii(pair.value)}" for pair in wanted.pairs if pair.name not in ("start", "sa")]
    return "/search?" + "&".join([*kept, f"start={start}", "sa=N"])


def _ascii(raw: str) -> str:
    return quote(raw.encode("latin-1"), safe="%+!$'()*,/:;=?@~-._|")
