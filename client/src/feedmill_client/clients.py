"""The client objects that wait for their results. ``asyncclients`` has their twins for asyncio.

A client keeps its connections open between requests; leave its ``with`` block, or call ``close``, to close them. Threads may share a
client.

Errors, of every method: Denied (the user is unknown or lacks the permission), NotFound, BadRequest, Busy (try again), Unreachable (no
answer), ServerFault.
"""

from feedmill_client import _administering as administering
from feedmill_client import _feeding as feeding
from feedmill_client import _searching as searching
from feedmill_client._bases import BlockingContext, OnAdminPort, OnServer
from feedmill_client._blocking import blocking, iterating


class Client(OnServer, BlockingContext):
    """A server, by the addresses of its search port and its feed port.

    ``token``: a bearer token for searches as a user; ``push_token``: a token of scope ``push`` for the feed port; ``certificate`` and
    ``proxy``: see ``Options``. An address may hold a user and a password: ``http://ann:secret@search.example.com``.

    Example::

        with Client(search="http://127.0.0.1:8080") as client:
            answer = client.search("travel expenses", facets=["department"], getfields=["department"])
    """

    search = blocking(searching.search)
    iter_results = iterating(searching.iter_results)
    suggest = blocking(searching.suggest)
    retrieve = blocking(searching.retrieve)
    get_document = blocking(searching.get_document)

    push = blocking(feeding.push)
    push_groups = blocking(feeding.push_groups)
    push_documents = blocking(feeding.push_documents)
    put_document = blocking(feeding.put_document)
    delete_document = blocking(feeding.delete_document)
    load = blocking(feeding.load)

    get_receipt = blocking(feeding.get_receipt)
    wait = blocking(feeding.wait)
    list_receipts = blocking(feeding.list_receipts)
    iter_receipts = iterating(feeding.iter_receipts)
    download_feed = blocking(feeding.download_feed)
    resend_feed = blocking(feeding.resend_feed)
    count_backlog = blocking(feeding.count_backlog)
    inspect_document = blocking(feeding.inspect_document)
    list_datasources = blocking(feeding.list_datasources)
    delete_datasource = blocking(feeding.delete_datasource)


class Administration(OnAdminPort, BlockingContext):
    """The admin port of a server, which answers on its own machine only.

    ``token`` is the one in the file ``admin.token`` of the data folder, or that of an administrator.

    Errors of all methods: as of ``Client``; Conflict if a run of the source is requested already.

    Example::

        administration = Administration("http://127.0.0.1:8000", token=token)
        for source in administration.list_sources():
            print(source.name, source.paused, source.last_run and source.last_run.state)
        print(administration.get_crawl().groups)
    """

    list_sources = blocking(administering.list_sources)
    list_runs = blocking(administering.list_runs)
    request_run = blocking(administering.request_run)
    get_run = blocking(administering.get_run)
    wait_for_run = blocking(administering.wait_for_run)
    pause_source = blocking(administering.pause_source)
    resume_source = blocking(administering.resume_source)
    get_crawl = blocking(administering.get_crawl)
    list_crawl_queue = blocking(administering.list_crawl_queue)
    iter_crawl_queue = iterating(administering.iter_crawl_queue)
    get_crawl_entry = blocking(administering.get_crawl_entry)
    recrawl = blocking(administering.recrawl)
    pause_crawl = blocking(administering.pause_crawl)
    resume_crawl = blocking(administering.resume_crawl)
    why = blocking(administering.why)
