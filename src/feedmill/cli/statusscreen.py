"""What ``feedmill status`` prints for people: faults and warnings first, then the server, its work and its index."""

from collections.abc import Iterator
from typing import Any

from feedmill.cli.options import clean, console, show_time
from feedmill.cli.pulling import describe_pull

BARS = " ▁▂▃▄▅▆▇█"
_INDENT = " " * 12
_FAILED_RUNS = {"failed": "failed", "held": "was held, because it would delete too much"}

Status = dict[str, Any]
"""The status as ``read_status`` returns it."""


def print_status(status: Status) -> None:
    """Prints the status without its settings, a line for each fact. Shape: every subject stands once, in the same order."""
    out = console()
    for line in (*list_faults(status), *(f"warning:    {warning}" for warning in status["warnings"])):
        out.print(clean(line))
    for part in (_describe_server, _describe_work, _describe_queues, _describe_index, _describe_crawl, _describe_sources):
        for line in part(status):
            out.print(clean(line))


def list_faults(status: Status) -> Iterator[str]:
    """Yields what does not work as it should, each with its reason in a further line."""
    if not status["running"]:
        yield from _fault("no server runs on this data folder", "'feedmill serve' starts one; until then searches and feeds get no answer")
    for queue in status["queues"]:
        if queue["stuck"]:
            about = f", {queue['document']}" if queue["document"] else ""
            yield from _fault(f"queue {queue['name']} has not moved since {show_time(queue['since'])}{about}", queue["reason"])
    for server in status["authorization"]["open_circuits"]:
        yield from _fault(f"{server['rule']}: {server['server']} gets no requests since {show_time(server['since'])}", server["reason"])
    if (semantic := status["semantic"]) and (circuit := semantic["open_circuit"]):
        yield from _fault(f"the model {semantic['model']} gets no queries since {show_time(circuit['since'])}", circuit["reason"])
    for name, role in status["roles"].items():
        if role["restarts"]:
            times = "once" if role["restarts"] == 1 else f"{role['restarts']} times"
            waits = ", and one of its processes waits for its restart" if 0 in role["pids"] else ""
            yield from _fault(f"{name} ended by itself and was started again {times}{waits}", "the log says why")
    if status["index"]["partial"]:
        yield from _fault("the index does not hold all documents yet", "searches find the others when it has been built")
    for source in status["pull_sources"]:
        last = source["last_run"]
        if last is not None and last["state"] in _FAILED_RUNS:
            yield from _fault(f"source {source['name']}: the last run {_FAILED_RUNS[last['state']]}", last["reason"])


def _fault(text: str, reason: str | None) -> Iterator[str]:
    yield f"error:      {text}"
    if reason:
        yield _INDENT + reason


def _describe_server(status: Status) -> Iterator[str]:
    if not status["running"]:
        return
    yield f"server:     runs as process {status['pid']} since {show_time(status['started_at'])}"
    for name, address in status["addresses"].items():
        yield f"  {name:<10}{address}"
    for name, role in status["roles"].items():
        processes = "process " if len(role["pids"]) == 1 else "processes "
        yield f"  {name:<14}{processes}{', '.join(map(str, role['pids']))}"
    if status["sandbox"]:
        yield f"sandbox:    {describe_sandbox(status['sandbox'])}"


def describe_sandbox(sandbox: dict[str, int]) -> str:
    """Returns the parts that are in force and those that this kernel lacks."""
    there = [f"{name} {value}" if value is not True else name for name, value in sandbox.items() if value]
    missing = [name for name, value in sandbox.items() if not value]
    return ", ".join(there) + (f"; this kernel lacks {', '.join(missing)}" if missing else "")


def _describe_work(status: Status) -> Iterator[str]:
    yield f"feeds:      {status['feeds_waiting']} waiting"
    yield f"documents:  {status['documents']}"
    for stage, count in status["index_tasks"].items():
        yield f"  waiting for {stage}: {count}"
    if semantic := status["semantic"]:
        yield f"semantic:   {semantic['embedded']} of {semantic['documents']} documents embedded by {semantic['model']}"


def _describe_queues(status: Status) -> Iterator[str]:
    waiting = [queue for queue in status["queues"] if queue["waiting"]]
    yield "queues:     " + ("nothing waits" if not waiting else f"{len(waiting)} with waiting items")
    for queue in waiting:
        oldest = "" if queue["oldest_seconds"] is None else f", the oldest for {queue['oldest_seconds']:.0f} s"
        yield f"  {queue['name']:<12}{queue['waiting']} waiting{oldest}"
        if queue["reason"] and not queue["stuck"]:
            yield f"    {queue['reason']}"


def _describe_index(status: Status) -> Iterator[str]:
    index = status["index"]
    rebuilding = f", being rebuilt as {index['rebuilding']}{_report_progress(index['progress'])}" if index["rebuilding"] else ""
    partial = ", does not hold all documents yet" if index["partial"] else ""
    learning = ", learning url patterns" if index["learning_patterns"] else ""
    yield f"index:      {index['folder'] or 'none yet'}, generation {index['generation']}{partial}{rebuilding}{learning}"


def _report_progress(progress: dict[str, int] | None) -> str:
    if progress is None:
        return ""
    written, total, remaining = progress["written"], progress["total"], progress["remaining_seconds"]
    left = f"{remaining // 60} min" if remaining >= 120 else f"{remaining} s"
    return f": {written} of {total} documents ({100 * written // max(total, 1)} %), about {left} left"


def _describe_crawl(status: Status) -> Iterator[str]:
    crawl = status["crawl"]
    if crawl["urls"]:
        counts = ", ".join(f"{count} {group}" for group, count in crawl["groups"].items())
        yield f"crawl:      {crawl['urls']} urls of {crawl['sites']} sites: {counts}{'; paused' if crawl['paused'] else ''}"
    if any(crawl["fetches"]):
        yield f"  the last hour, a bar a minute: |{draw_bars(crawl['fetches'])}| at most {max(crawl['fetches']) / 60:.1f} a second"


def draw_bars(values: list[int]) -> str:
    """Returns a picture of numbers, a bar each. Every number above 0 has a bar."""
    highest = max(values)
    return "".join(BARS[max(8 * value // highest, 1)] if value else " " for value in values)


def _describe_sources(status: Status) -> Iterator[str]:
    for source in status["pull_sources"]:
        last = source["last_run"]
        yield f"source:     {source['name']}: {describe_pull(source)}"
        if last is not None and last["reason"] and last["state"] not in _FAILED_RUNS:
            yield f"  {last['reason']}"
