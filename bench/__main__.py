"""Runs all benchmarks, or those named: ``python -m bench [NAME ...]``; the names stand in ``BENCHMARKS``."""

import sys
from collections.abc import Callable

from bench import (
    access,
    changes,
    client,
    commandstream,
    crawl,
    crawlfetch,
    crawlqueue,
    dataload,
    expensive,
    facets,
    faults,
    gate,
    groups,
    halfopen,
    hidden,
    ingest,
    jsonstream,
    latency,
    leak,
    queries,
    rarewords,
    relevance,
    results,
    rows,
    sandbox,
    seedlist,
    semantic,
    snippets,
    throughput,
    upload,
)

BENCHMARKS: dict[str, tuple[str, Callable[[], object]]] = {
    "ingest": ("documents a second, push to searchable", ingest.main),
    "ingest-manuals": ("the same for the manuals of this machine, whose vocabulary is real", lambda: ingest.main(corpus="manuals")),
    "latency": ("a one-record feed until it is found", latency.main),
    "leak": ("what scores and order reveal of hidden documents", leak.main),
    "dataload": ("items of a dataload a second, against the same documents in a GSA feed", dataload.main),
    "rows": ("rows of a database a second, against reading them alone; 100 changes until they are found", rows.main),
    "seedlist": ("entries of a seedlist a second, against fetching and parsing them", seedlist.main),
    "queries": ("searches over 200,000 documents against the bare engine", queries.main),
    "relevance": ("ranking on judged collections against plain BM25", relevance.main),
    "results": ("an answer of 100 results as XML beside its query", results.main),
    "gate": ("a 1 GB feed against a bare receiver", lambda: gate.main(1_000)),
    "jsonstream": ("100 MB and 1 GB of documents as JSON: rates, and the memory of the gate and the feeder", jsonstream.main),
    "groups": ("a groups feed until it is obeyed, all groups of a user", groups.main),
    "access": ("searches with ACLs against searches without", access.main),
    "changes": ("what changed for a user, against deciding everything twice", changes.main),
    "client": ("requests of the Python client against http.client, memory of a push of 1 GB", client.main),
    "commandstream": ("the listing of a command line adaptor against reading its bytes", commandstream.main),
    "crawl": ("fetching against Scrapy, and a whole crawl against the same documents as a feed", crawl.main),
    "crawlfetch": ("pages a second of the fetcher, against plain connections", crawlfetch.main),
    "crawlqueue": ("adding URLs to the crawl queue, leasing the next ones, memory and disk", crawlqueue.main),
    "facets": ("searches with facets against the same without, suggestions, the page", facets.main),
    "faults": ("documents whose step fails, and how long others wait", faults.main),
    "halfopen": ("an ordinary client beside 1,000 half-open connections", halfopen.main),
    "hidden": ("whether time distinguishes a hidden document from an unknown URL", hidden.main),
    "expensive": ("the most expensive queries over 300,000 different words", expensive.main),
    "snippets": ("how many snippets are sentences of the main text, on folders of real pages", snippets.main),
    "semantic": ("the exact vector search against a bare product of numpy, up to a million passages", semantic.main),
    "sandbox": ("extraction with the sandbox against the same without", sandbox.main),
    "rarewords": ("searches for rare words against searches for frequent ones", rarewords.main),
    "throughput": ("searches a second over several connections, against what the processors allow", throughput.main),
    "upload": ("a large feed against the disk, memory, search meanwhile", upload.main),
}


def main(names: list[str]) -> int:
    """Runs the benchmarks of the names, all without any."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.stderr.write(f"there is no benchmark {unknown[0]}; there are {', '.join(BENCHMARKS)}\n")
        return 2
    for name in names or BENCHMARKS:
        title, run = BENCHMARKS[name]
        print(f"{name}: {title}", flush=True)
        run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
