"""The Python client under its former name. It is a package of its own, ``feedmill_client``, which needs no server.

Example::

    from feedmill.client import Client

    client = Client(search="http://127.0.0.1:8080")
"""

from feedmill_client import *  # noqa: F403
from feedmill_client import __all__ as __all__
