"""``feedmill status``: shows what is wrong, then the server's work, and the settings that are not the default."""

from feedmill.cli.options import DATA, Config, Data, Json, console, print_json, workplace
from feedmill.cli.settingslist import print_changed
from feedmill.cli.statusscreen import print_status

STATUS_EXAMPLES = """Examples:

  feedmill status

  feedmill status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["feeds_waiting"])'"""


def status(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Show faults and warnings first, then the server, feeds, documents, queues, index, crawl, sources, and changed settings."""
    from feedmill.bootstrap.context import utc_now
    from feedmill.bootstrap.pullrequests import build_pull_requests
    from feedmill.bootstrap.queues import build_queue_watch
    from feedmill.http.admin.status import read_status
    from feedmill.runtime.runstate import find_start

    place = workplace(data, config)
    with place.read() as context:
        # without a server nothing can move, which is no fault of a queue
        watch = build_queue_watch(context, lambda: find_start(data) or utc_now())
        status = read_status(context.store, data, place.load(), watch, build_pull_requests(context))
    if as_json:
        print_json(status)
        return
    print_status(status)
    console().print()
    print_changed(status["settings"])
