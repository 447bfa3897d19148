"""The process that builds index entries for the indexer: ``python -m feedmill.runtime.entrybuilding FOLDER PARENT``.

It records each document before it works on it, so that the indexer knows which document crashed it.
"""

import os
import pickle
import sys
from pathlib import Path

from setproctitle import setproctitle

from feedmill.adapters.index.tantivy.entrybuilder import DOCUMENTS, IN_FLIGHT, INDEX, OUTCOME
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.adapters.inflight import MappedInFlight
from feedmill.model.entrybuild import BuildFailure
from feedmill.model.search import IndexDocument
from feedmill.runtime.parentage import die_with_parent
from feedmill.runtime.roles import INDEX_ENTRIES
from feedmill.services.indexing.preparing import put_isolated
from feedmill.telemetry.logs import configure_logs

HEAP_BYTES = 200_000_000


def build(folder: Path) -> None:
    """Builds the entries of a folder's documents, and writes the failures."""
    with (folder / DOCUMENTS).open("rb") as file:
        documents: list[IndexDocument] = pickle.load(file)  # noqa: S301 - written by the indexer, in its own folder
    in_flight = MappedInFlight(folder, IN_FLIGHT)
    writer = TantivyWriter(folder / INDEX, heap_bytes=HEAP_BYTES)
    build_failures: dict[int, BuildFailure] = {}
    for document in documents:
        in_flight.begin(str(document.key))
        build_failure = put_isolated([writer], document)
        if build_failure is not None:
            build_failures[document.key] = build_failure
        if len(documents) > 1:
            in_flight.end()
    writer.commit()
    writer.wait_for_merges()
    with (folder / OUTCOME).open("wb") as file:
        pickle.dump(build_failures, file, pickle.HIGHEST_PROTOCOL)


def main() -> None:
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    die_with_parent(parent)
    os.nice(INDEX_ENTRIES.niceness)
    setproctitle(INDEX_ENTRIES.title)
    configure_logs(INDEX_ENTRIES.name)
    build(folder)


if __name__ == "__main__":
    main()
