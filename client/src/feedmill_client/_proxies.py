"""Which proxy carries the requests to a server, if any: that of the options, else that of the environment.

- ``https_proxy`` and ``http_proxy`` name the proxy by the scheme of the server, and ``all_proxy`` that of both. In small letters a variable
  wins over the same one in capitals.
- ``HTTP_PROXY`` in capitals counts only where ``REQUEST_METHOD`` is not set: in a CGI program any client sets it, by a header ``Proxy``.
- ``no_proxy`` lists servers that are reached directly: names, which cover those below them, addresses and networks, each with a port if
  it means that port alone. ``*`` is every server.
- The environment never sends what is for this machine to a proxy, so that a token of a local server stays here.

A proxy is reached without TLS. It reads the requests to servers without TLS; to others it opens a tunnel (``CONNECT``), and sees a host
and a port of them. Source: curl(1), "ENVIRONMENT"; httpoxy.org; RFC 9110, 9.3.6.
"""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Final

from feedmill_client._addresses import Address, read_address
from feedmill_client.errors import BadRequest

_LOCAL: Final = "localhost"


def choose_proxy(server: Address, given: str | None, environment: Mapping[str, str]) -> Address | None:
    """Returns the proxy for a server, None for none. ``given`` is that of the options: "" for none. Errors: BadRequest for no address."""
    if given is not None:
        return _read_proxy(given, "the option proxy") if given else None
    name, value = _find_variable(server, environment)
    if not value or _is_local(server.host) or _is_excluded(server, _get(environment, "no_proxy")[1]):
        return None
    return _read_proxy(value, f"the environment variable {name}")


def _read_proxy(value: str, origin: str) -> Address:
    try:
        proxy = read_address(value)
    except BadRequest as exc:
        raise BadRequest(f"{origin} names no proxy: {exc}") from exc
    if proxy.is_tls:
        raise BadRequest(f"{origin} names '{proxy.shown}', a proxy over TLS, which is not supported; give http://HOST:PORT")
    return replace(proxy, shown=proxy.shown.rstrip("/"))


def _find_variable(server: Address, environment: Mapping[str, str]) -> tuple[str, str]:
    """Returns the variable that names the proxy for a server, and its value, "" for none."""
    if server.is_tls:
        found = _get(environment, "https_proxy")
    elif "REQUEST_METHOD" in environment:
        found = "http_proxy", environment.get("http_proxy", "").strip()
    else:
        found = _get(environment, "http_proxy")
    return found if found[1] else _get(environment, "all_proxy")


def _get(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    small = environment.get(name)
    # an empty value in small letters stands too: it means none
    return (name, small.strip()) if small is not None else (name.upper(), environment.get(name.upper(), "").strip())


def _is_local(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        name = host.rstrip(".")
        return name == _LOCAL or name.endswith(f".{_LOCAL}")


def _is_excluded(server: Address, listed: str) -> bool:
    return any(_covers(entry, server) for entry in listed.lower().replace(",", " ").split())


def _covers(entry: str, server: Address) -> bool:
    """Returns whether an entry of ``no_proxy`` covers a server."""
    host, port = _split_port(entry)
    if port and port != str(server.port):
        return False
    try:
        address = ip_address(server.host.partition("%")[0])
    except ValueError:
        name, domain = server.host.rstrip("."), host.removeprefix("*").strip(".")
        return host == "*" or (bool(domain) and (name == domain or name.endswith(f".{domain}")))
    try:
        return host == "*" or address in ip_network(host, strict=False)
    except ValueError:
        return False


def _split_port(entry: str) -> tuple[str, str]:
    """Returns host and port of ``host:port``, ``[address]:port``, ``address`` or ``network``; the port "" if there is none."""
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    host, _, port = entry.rpartition(":")
    return (host, port) if port.isdigit() and ":" not in host and host else (entry, "")
