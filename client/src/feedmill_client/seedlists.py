"""Reads seedlists, of Feedmill or of IBM and HCL products, page by page."""

from feedmill_client._bases import BlockingContext, OnSeedlist
from feedmill_client._blocking import iterating
from feedmill_client._seedlists import iter_items


class SeedlistReader(OnSeedlist, BlockingContext):
    """Reads one seedlist from its first page to its last one.

    Errors: Denied, NotFound, Busy; BadAnswer for what is no seedlist.

    Example::

        reader = SeedlistReader("http://127.0.0.1:8080/seedlist/myserver?Action=GetDocuments", token=token)
        for item in reader.iter_items():
            print(item.id, item.title, item.url, item.tokens)
        later = SeedlistReader("http://127.0.0.1:8080/seedlist/myserver", token=token, since=reader.timestamp)
    """

    iter_items = iterating(iter_items)
