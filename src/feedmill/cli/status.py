"""``feedmill status``: shows queues, documents, processes and the origin of each setting."""

from typing import Any

from feedmill.bootstrap.pulling import build_pull_requests
from feedmill.bootstrap.queues import build_queue_watch
from feedmill.cli.configuration import print_changed
from feedmill.cli.options import DATA, Config, Data, Json, clean, console, print_json, workplace
from feedmill.http.admin.status import read_status
from feedmill.runtime.runstate import find_start

BARS = " ▁▂▃▄▅▆▇█"

STATUS_EXAMPLES = """Examples:

  feedmill status

  feedmill status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["feeds_waiting"])'"""


def status(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Show feeds waiting, documents, the state of the index, the server's processes, and the origin of each setting."""
    place = workplace(data, config)
    with place.read() as context:
        watch = build_queue_watch(context, lambda: find_start(data))
        status = read_status(context.store, data, place.load(), watch, build_pull_requests(context))
    if as_json:
        print_json(status)
    else:
        _print_status(status)


def _print_status(status: dict[str, Any]) -> None:
    out = console()
    out.print(f"server:     {'runs as process ' + str(status['pid']) if status['running'] else 'does not run'}")
    for name, address in status["addresses"].items():
        out.print(f"  {name:<10}{address}")
    for name, role in status["roles"].items():
        processes = "process " if len(role["pids"]) == 1 else "processes "
        out.print(f"  {name:<14}{processes}{', '.join(map(str, role['pids']))}, started again {role['restarts']} times")
    if status["sandbox"]:
        out.print(f"sandbox:    {_describe_sandbox(status['sandbox'])}")
    out.print(f"feeds:      {status['feeds_waiting']} waiting")
    out.print(f"documents:  {status['documents']}")
    for stage, count in status["index_tasks"].items():
        out.print(f"  waiting for {stage}: {count}")
    crawl = status["crawl"]
    if crawl["urls"]:
        counts = ", ".join(f"{count} {group}" for group, count in crawl["groups"].items())
        out.print(f"crawl:      {crawl['urls']} urls of {crawl['sites']} sites: {counts}{'; paused' if crawl['paused'] else ''}")
    if any(crawl["fetches"]):
        out.print(f"  the last hour, a bar a minute: |{draw_bars(crawl['fetches'])}| at most {max(crawl['fetches']) / 60:.1f} a second")
    if semantic := status["semantic"]:
        out.print(clean(f"semantic:   {semantic['embedded']} of {semantic['documents']} documents embedded by {semantic['model']}"))
    _print_queues(status["queues"])
    for source in status["pull_sources"]:
        last = source["last_run"]
        out.print(clean(f"source:     {source['name']}: {'no run yet' if last is None else 'run ' + last['state']}"))
        if last is not None and last["reason"]:
            out.print(f"  {clean(last['reason'])}")
    for server in status["authorization"]["open_circuits"]:
        out.print(f"error:      {clean(server['rule'])}: {clean(server['server'])} gets no requests since {server['since']}")
        out.print(f"  {clean(server['reason'])}")
    index = status["index"]
    rebuilding = f", being rebuilt as {index['rebuilding']}{_report_progress(index['progress'])}" if index["rebuilding"] else ""
    partial = ", does not hold all documents yet" if index["partial"] else ""
    learning = ", learning url patterns" if index["learning_patterns"] else ""
    out.print(f"index:      {index['folder'] or 'none yet'}, generation {index['generation']}{partial}{rebuilding}{learning}")
    for warning in status["warnings"]:
        out.print(clean(f"warning:    {warning}"))
    out.print()
    print_changed(status["settings"])


def _describe_sandbox(sandbox: dict[str, int]) -> str:
    """Returns the parts that are in force and those that this kernel lacks."""
    there = [f"{name} {value}" if value is not True else name for name, value in sandbox.items() if value]
    missing = [name for name, value in sandbox.items() if not value]
    return ", ".join(there) + (f"; this kernel lacks {', '.join(missing)}" if missing else "")


def _print_queues(queues: list[dict[str, Any]]) -> None:
    out = console()
    for queue in queues:
        if not queue["waiting"]:
            continue
        oldest = "" if queue["oldest_seconds"] is None else f", the oldest for {queue['oldest_seconds']:.0f} s"
        out.print(f"  queue {queue['name']:<12}{queue['waiting']} waiting{oldest}")
        if queue["stuck"]:
            about = f", {clean(queue['document'])}" if queue["document"] else ""
            out.print(f"error:      queue {queue['name']} has not moved since {queue['since']}{about}")
        if queue["reason"]:
            out.print(f"    {clean(queue['reason'])}")


def draw_bars(values: list[int]) -> str:
    """Returns a picture of numbers, a bar each. Every number above 0 has a bar."""
    highest = max(values)
    return "".join(BARS[max(8 * value // highest, 1)] if value else " " for value in values)


def _report_progress(progress: dict[str, int] | None) -> str:
    if progress is None:
        return ""
    written, total, remaining = progress["written"], progress["total"], progress["remaining_seconds"]
    left = f"{remaining // 60} min" if remaining >= 120 else f"{remaining} s"
    return f": {written} of {total} documents ({100 * written // max(total, 1)} %), about {left} left"
