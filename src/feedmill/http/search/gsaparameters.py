"""The parameters of ``/search`` as old front ends send them.

No value is an error: a text that is no number becomes the default, as does ``num`` below one; a number that is too large becomes the
largest. The response repeats every parameter, known or not, with the value that was used and with the value as it was sent, still
percent-encoded.
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
class RawParameter:
    """A name and its value as they were sent, percent-encoded."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GsaRequest:
    """A request as an old front end sends it. ``access`` is p, s or a."""

    values: Mapping[str, str]
    pairs: tuple[RawParameter, ...]
    request: SearchRequest
    access: str
    collapsing: Collapsing

    @property
    def shows_total(self) -> bool:
        """Whether the response may state the number of results: not for a secure search, unless the request wants an estimate."""
        return self.access == "p" or self.values.get("secure_estimates") == "1"


def split_pairs(query: bytes) -> tuple[RawParameter, ...]:
    """Splits a query string, or a posted form, without decoding it."""
    parts = [part.partition("=") for part in query.decode("latin-1").split("&")[:MAX_PAIRS] if part]
    return tuple(RawParameter(name, value) for name, _, value in parts)


def read_gsa_request(pairs: Sequence[RawParameter]) -> GsaRequest:
    """Reads the parameters. If a name was sent twice, the last value counts; all values count of ``facet`` and ``select``."""
    charset = next((pair.value for pair in reversed(pairs) if pair.name == "ie"), None)
    values = {_decode(pair.name, charset): _decode(pair.value, charset) for pair in pairs}
    read = read_search(values)
    access = values.get("access", "").strip().lower()
    request = replace(
        read,
        num=_read_num(values.get("num", "")),
        match=read.match if values.get("match") else Match.ALL,
        has_frontend_facets=True,
        facet_names=_list_values(pairs, "facet", charset),
        selected=_list_values(pairs, "select", charset),
    )
    return GsaRequest(
        values=values,
        pairs=tuple(pairs),
        request=request,
        access=access if access in ACCESS else "p",
        collapsing=_COLLAPSING.get(values.get("filter", "").strip().lower(), Collapsing()),
    )


def _list_values(pairs: Sequence[RawParameter], name: str, charset: str | None) -> tuple[str, ...]:
    return tuple(_decode(pair.value, charset) for pair in pairs if _decode(pair.name, charset) == name)


def _decode(raw: str, charset: str | None) -> str:
    return decode(unquote_to_bytes(raw.replace("+", " ").encode("latin-1")), unquote(charset) if charset else None)


def _read_num(text: str) -> int:
    return read_number(text, default=DEFAULT_NUM, at_most=MAX_NUM) or DEFAULT_NUM


# --- the parameters in the response ---------------------------------------------------------------------------------------------


def echo_parameters(gsa: GsaRequest, client: str, start: int | None = None) -> tuple[Parameter, ...]:
    """Returns the parameters as the response repeats them.

    Shape: ``client`` is the address of the client, "" if it is not known; ``start`` is where the page begins, None for the requested start.
    """
    used = {
        "num": str(gsa.request.num),
        "start": str(gsa.request.start if start is None else start),
        "access": gsa.access,
        "oe": find_charset(gsa.values.get("oe", "")).name,
        "ie": find_charset_read(gsa.values.get("ie", "")).name,
    }
    charset = gsa.values.get("ie")
    echoed = [_echo(pair, used, charset) for pair in gsa.pairs if pair.name != "ip"]
    return (*echoed, *([Parameter(name="ip", value=client, original=client)] if client else []))


def _echo(pair: RawParameter, used: Mapping[str, str], charset: str | None) -> Parameter:
    name, value = _decode(pair.name, charset), _decode(pair.value, charset)
    shown = used.get(name, value if name in _KNOWN else re.sub(r"\s", "_", value))
    return Parameter(name=name[:MAX_ECHOED], value=shown[:MAX_ECHOED], original=pair.value[:MAX_ECHOED])


def page_url(gsa: GsaRequest, start: int) -> str:
    """Returns the relative URL of another page of the same search."""
    repeated = [f"{_ascii(pair.name)}={_ascii(pair.value)}" for pair in gsa.pairs if pair.name not in ("start", "sa")]
    return "/search?" + "&".join([*repeated, f"start={start}", "sa=N"])


def _ascii(raw: str) -> str:
    return quote(raw.encode("latin-1"), safe="%+!$'()*,/:;=?@~-._|")
