"""A second web process on a data folder, which leaves access control out: the reference. For this benchmark alone, on loopback alone.

It is the server's own web process but for what it does about access: the index is queried without classes, and nothing is decided again.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from feedmill.adapters.index.tantivy import classfacets, facets, reader, rerank
from feedmill.adapters.index.tantivy.accessfilter import PermittedMatches
from feedmill.adapters.index.tantivy.query import build_unfiltered
from feedmill.bootstrap.context import open_context
from feedmill.model.access import AccessFilter
from feedmill.model.document import Document, DocumentState
from feedmill.ports import UnitOfWork
from feedmill.runtime.parentage import die_with_parent
from feedmill.runtime.roles import Ports
from feedmill.runtime.servingroles import run_web
from feedmill.services.access.resulttrimming import ResultTrimmer, TrimmedResults
from feedmill.services.deadline import Deadline
from feedmill.settings import read_snapshot


def _find_all(_searcher: object, take: Any, _access: AccessFilter, wanted: int) -> PermittedMatches:
    found = take(wanted)
    return PermittedMatches(pairs=found.hits, total=found.count)


def _build_without_classes(root: Any, _access: AccessFilter, current_user: Any) -> Any:
    return build_unfiltered(root, current_user)


def _decide_nothing(
    _self: ResultTrimmer, _unit: UnitOfWork, documents: Iterable[Document], _access: AccessFilter, _deadline: Deadline | None = None
) -> TrimmedResults:
    return TrimmedResults(shown=[each for each in documents if each.state is DocumentState.LIVE])


def main(data: Path, parent: int) -> None:
    """Serves searches until the parent ends; prints the port first."""
    die_with_parent(parent)
    sockets = {"search": socket.create_server(("127.0.0.1", 0))}
    print(sockets["search"].getsockname()[1], flush=True)
    with (
        patch.object(rerank, "find_permitted", _find_all),
        patch.object(reader, "build_query", _build_without_classes),
        patch.object(facets, "build_query", _build_without_classes),
        patch.object(classfacets, "table_of", lambda _access: None),
        patch.object(ResultTrimmer, "decide_each", _decide_nothing),
        open_context(data, read_snapshot(data).settings, "reference") as context,
    ):
        run_web(context, Ports(sockets=sockets))


@contextmanager
def unfiltered(data: Path) -> Iterator[tuple[int, int]]:
    """Runs it for a block, on the folder of a running server; yields its port and its process."""
    command = [sys.executable, "-m", "bench.million.unfiltered", str(data), str(os.getpid())]
    with data.with_suffix(".reference.log").open("w") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
