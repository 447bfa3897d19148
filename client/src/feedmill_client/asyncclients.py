"""The client objects for asyncio. They run the same operations as those that wait, so they have the same methods and parameters.

Leave the ``async with`` block of a client, or await ``close``, to close its connections. A client belongs to one event loop.

Example::

    import asyncio

    from feedmill_client import AsyncClient


    async def search_both() -> None:
        async with AsyncClient(search="http://127.0.0.1:8080") as client:
            for answer in await asyncio.gather(client.search("travel"), client.search("expenses")):
                print(answer.total)


    asyncio.run(search_both())
"""

from feedmill_client import _administering as administering
from feedmill_client import _feeding as feeding
from feedmill_client import _searching as searching
from feedmill_client._awaiting import async_iterating, awaiting
from feedmill_client._bases import AsyncContext, OnAdminPort, OnPort, OnSeedlist, OnServer
from feedmill_client._endpoint import Endpoint
from feedmill_client._seedlists import iter_items


class AsyncClient(OnServer, AsyncContext):
    """A server, by the addresses of its search port and its feed port, for asyncio. Its parameters are those of ``Client``.

    Example::

        async with AsyncClient(search="http://127.0.0.1:8080") as client:
            async for result in client.iter_results("travel expenses"):
                print(result.url)
    """

    search = awaiting(searching.search)
    iter_results = async_iterating(searching.iter_results)
    suggest = awaiting(searching.suggest)
    retrieve = awaiting(searching.retrieve)
    get_document = awaiting(searching.get_document)

    push = awaiting(feeding.push)
    push_groups = awaiting(feeding.push_groups)
    push_documents = awaiting(feeding.push_documents)
    put_document = awaiting(feeding.put_document)
    delete_document = awaiting(feeding.delete_document)
    load = awaiting(feeding.load)

    get_receipt = awaiting(feeding.get_receipt)
    wait = awaiting(feeding.wait)
    list_receipts = awaiting(feeding.list_receipts)
    iter_receipts = async_iterating(feeding.iter_receipts)
    download_feed = awaiting(feeding.download_feed)
    resend_feed = awaiting(feeding.resend_feed)
    count_backlog = awaiting(feeding.count_backlog)
    inspect_document = awaiting(feeding.inspect_document)
    list_datasources = awaiting(feeding.list_datasources)
    delete_datasource = awaiting(feeding.delete_datasource)


class AsyncAdministration(OnAdminPort, AsyncContext):
    """The admin port of a server, for asyncio. Its parameters are those of ``Administration``."""

    list_sources = awaiting(administering.list_sources)
    list_runs = awaiting(administering.list_runs)
    request_run = awaiting(administering.request_run)
    get_run = awaiting(administering.get_run)
    wait_for_run = awaiting(administering.wait_for_run)
    pause_source = awaiting(administering.pause_source)
    resume_source = awaiting(administering.resume_source)
    get_crawl = awaiting(administering.get_crawl)
    list_crawl_queue = awaiting(administering.list_crawl_queue)
    iter_crawl_queue = async_iterating(administering.iter_crawl_queue)
    get_crawl_entry = awaiting(administering.get_crawl_entry)
    recrawl = awaiting(administering.recrawl)
    pause_crawl = awaiting(administering.pause_crawl)
    resume_crawl = awaiting(administering.resume_crawl)
    why = awaiting(administering.why)


class AsyncPort(OnPort, AsyncContext):
    """A port of a server, for asyncio. Its parameters are those of ``Port``."""

    get_json = awaiting(Endpoint.get_json)
    send_json = awaiting(Endpoint.send_json)
    post_json = awaiting(Endpoint.post_json)
    delete = awaiting(Endpoint.delete)
    get_bytes = awaiting(Endpoint.get_bytes)
    push = awaiting(Endpoint.push)


class AsyncSeedlistReader(OnSeedlist, AsyncContext):
    """Reads one seedlist, for asyncio. Its parameters are those of ``SeedlistReader``."""

    iter_items = async_iterating(iter_items)
