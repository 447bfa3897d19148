"""One port of a server by itself, for resources that the clients have no method for.

Example::

    from feedmill_client.port import Port

    with Port("http://127.0.0.1:19900") as port:
        receipts = port.get_json("/api/v1/feeds", {"limit": "5"})
"""

from feedmill_client._addresses import quote_name
from feedmill_client._bases import BlockingContext, OnPort
from feedmill_client._blocking import blocking
from feedmill_client._bodies import OnProgress, Progress, ignore_progress
from feedmill_client._endpoint import Endpoint

__all__ = ["OnProgress", "Port", "Progress", "ignore_progress", "quote_name"]


class Port(OnPort, BlockingContext):
    """A port of a server by its base URL, which may hold a user and a password or token: ``http://user:token@host:port``."""

    get_json = blocking(Endpoint.get_json)
    send_json = blocking(Endpoint.send_json)
    post_json = blocking(Endpoint.post_json)
    delete = blocking(Endpoint.delete)
    get_bytes = blocking(Endpoint.get_bytes)
    push = blocking(Endpoint.push)
