"""What the blocking client objects and those for asyncio have in common: their parameters, and how they are closed."""

from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

from feedmill_client._endpoint import Endpoint
from feedmill_client._ports import ClientPorts, open_endpoint
from feedmill_client._seedlists import Seedlist
from feedmill_client.options import Options, choose_options


class BlockingContext:
    """Closes its connections at the end of a ``with`` block."""

    # each client says of which type it is
    _core: Any

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. A later request opens new ones."""
        self._core.close()


class AsyncContext:
    """Closes its connections at the end of an ``async with`` block."""

    # each client says of which type it is
    _core: Any

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections. A later request opens new ones."""
        self._core.close()


class OnServer:
    """Speaks to the search port and the feed port of a server."""

    _core: ClientPorts

    def __init__(
        self,
        search: str = "http://127.0.0.1:8080",
        feeds: str = "http://127.0.0.1:19900",
        *,
        token: str = "",
        push_token: str = "",
        certificate: str = "",
        proxy: str | None = None,
        options: Options | None = None,
    ) -> None:
        chosen = choose_options(options, certificate, proxy)
        self._core = ClientPorts(search=open_endpoint(search, chosen, token=token), feeds=open_endpoint(feeds, chosen, token=push_token))


class OnAdminPort:
    """Speaks to the admin port of a server."""

    _core: Endpoint

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        token: str = "",
        certificate: str = "",
        proxy: str | None = None,
        options: Options | None = None,
    ) -> None:
        self._core = open_endpoint(url, choose_options(options, certificate, proxy), token=token)


class OnPort:
    """Speaks to one port of a server."""

    _core: Endpoint

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        user: str = "",
        password: str = "",
        certificate: str = "",
        proxy: str | None = None,
        options: Options | None = None,
    ) -> None:
        self._core = open_endpoint(url, choose_options(options, certificate, proxy), token=token, user=user, password=password)


class OnSeedlist:
    """Reads one seedlist."""

    _core: Seedlist

    def __init__(
        self,
        url: str,
        *,
        user: str = "",
        password: str = "",
        token: str = "",
        since: str = "",
        certificate: str = "",
        proxy: str | None = None,
        options: Options | None = None,
    ) -> None:
        parts = urlsplit(url)
        chosen = choose_options(options, certificate, proxy)
        origin = (parts.scheme, parts.netloc)
        endpoint = open_endpoint(urlunsplit((*origin, "", "", "")), chosen, token=token, user=user, password=password)
        whole = url + (("&" if "?" in url else "?") + urlencode({"Timestamp": since}) if since else "")
        self._core = Seedlist(endpoint, whole, origin)

    @property
    def timestamp(self) -> str:
        """The timestamp of the page that was read last. After the last page it is the one to begin the next crawl from."""
        return self._core.timestamp
