"""``feedmill reindex``: builds the index again from the store. No feed has to be pushed again."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, Json, console, print_json, workplace
from feedmill.cli.working import work_until

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext

REINDEX_EXAMPLES = """Examples:

  feedmill reindex

  feedmill reindex --wait --json"""


def reindex(
    wait: Annotated[bool, typer.Option("--wait", help="Wait until searches use the new index.")] = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Build the index again. Searches use the old index until the new one is complete."""
    from feedmill.services.indexing.rebuilding import request_rebuild

    place = workplace(data, config)
    server = place.find_server()
    if server is None:
        with place.work() as context:
            folder = request_rebuild(context.store)
            record_command(context, "reindex", {"folder": folder})
            work_until(context, lambda: not _is_rebuilding(context))
    else:
        folder = place.client(server, "admin").post_json("/api/v1/reindex")["folder"]
        if wait:
            with place.read() as context:
                while _is_rebuilding(context):
                    time.sleep(0.2)
    is_done = wait or server is None
    if as_json:
        print_json({"folder": folder, "state": "done" if is_done else "asked"})
    else:
        console().print(f"index {folder} {'serves' if is_done else 'is being built'}")


def _is_rebuilding(context: "AppContext") -> bool:
    from feedmill.services.keyvalues import INDEX_REBUILD

    with context.store.reading() as unit:
        return bool(unit.state.key_values.get(INDEX_REBUILD))
