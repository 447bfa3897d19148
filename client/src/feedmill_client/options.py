"""How a client behaves: how long it waits, how often it tries again, which server it trusts, by which proxy it reaches it.

Example::

    from feedmill_client import Client, Options, Retries, Timeouts

    patient = Options(timeouts=Timeouts(silence_seconds=300.0), retries=Retries(attempts=10, total_seconds=600.0))
    client = Client(search="http://127.0.0.1:8080", options=patient)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # slow to load, and not needed without TLS
    from ssl import SSLContext

__version__ = "0.1.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a client waits. A push has no limit as a whole, since it may be of any size."""

    connect_seconds: float = 10.0
    """Until a connection is made, TLS included."""
    silence_seconds: float = 120.0
    """While the server neither takes nor sends a byte."""
    answer_seconds: float = 600.0
    """From the end of the request to the end of the answer, which ``download_feed`` may take longer for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a request is tried, and how long a client waits between.

    Before the n-th retry a client waits a random time between 0 and ``first_seconds`` x 2^(n-1), at most ``longest_seconds``, or as long
    as ``Retry-After`` says. It does not begin another try later than ``total_seconds`` after it began the first.
    """

    attempts: int = 4
    """With 1 nothing is tried again."""
    first_seconds: float = 0.2
    longest_seconds: float = 10.0
    total_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a client behaves."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    user_agent: str = f"feedmill-client/{__version__}"
    certificate: str = ""
    """A PEM file whose first certificate is the server's own. No other one is accepted, and the name in it does not matter."""
    ca_file: str = ""
    """A PEM file of the authorities to trust in place of those of the system; a certificate that signed itself is its own authority. The
    server's certificate must have the name in the address."""
    proxy: str | None = None
    """The proxy of all requests, as ``http://user:password@host:port``; "" for none. By default the variables ``http_proxy``,
    ``https_proxy``, ``all_proxy`` and ``no_proxy`` of the environment say which one, for servers on other machines."""
    context: SSLContext | None = None
    """A TLS context of your own in place of that of the system, for authorities or a certificate of the client."""
    max_answer_bytes: int = 64 << 20
    """A longer answer is refused. What ``download_feed`` writes to a file is not limited."""


def choose_options(options: Options | None, certificate: str, proxy: str | None) -> Options:
    """Returns the options of a client; ``certificate`` and ``proxy``, if they are given, replace theirs."""
    chosen = options or Options()
    if certificate:
        chosen = replace(chosen, certificate=certificate)
    return chosen if proxy is None else replace(chosen, proxy=proxy)
