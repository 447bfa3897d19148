"""The ports that a client speaks to."""

import os
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from feedmill_client._addresses import read_address
from feedmill_client._endpoint import Endpoint, Surroundings
from feedmill_client._proxies import choose_proxy
from feedmill_client.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPorts:
    """The search port and the feed port."""

    search: Endpoint
    feeds: Endpoint

    def close(self) -> None:
        """Closes all connections."""
        self.search.close()
        self.feeds.close()


def open_endpoint(url: str, options: Options, *, token: str = "", user: str = "", password: str = "") -> Endpoint:
    """Returns a port of a server, by its URL. Nothing is sent yet. Errors: BadRequest for a URL that is none, also of a proxy."""
    surroundings = Surroundings(clock=time.monotonic, now=lambda: datetime.now(UTC), chance=random.random)
    address = read_address(url, token=token, user=user, password=password)
    return Endpoint(address=address, proxy=choose_proxy(address, options.proxy, os.environ), options=options, surroundings=surroundings)
