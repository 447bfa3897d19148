"""``feedmill sources run``, ``runs``, ``pause`` and ``resume``: pull sources."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import DATA, Config, Data, Json, clean, console, error_console, print_json, show_time, workplace
from feedmill.cli.working import workers
from feedmill.model.pulling import RunRequest, RunState

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext
    from feedmill.cli.serverport import ServerPort

_POLL_SECONDS = 0.05
_MAX_POLL_SECONDS = 1.0

Name = Annotated[str, typer.Argument(metavar="NAME", help="The pull source, as [[sources]] names it.")]


def run(
    name: Name,
    full: Annotated[bool, typer.Option("--full", help="Read the whole source, even if an incremental run is possible.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would change, and change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Delete more documents than the guard permits.")] = False,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run a pull source now and wait for the end; exit 1 after an error, or if the guard held deletions back."""
    place = workplace(data, config)
    server = place.find_server()
    request = RunRequest(is_full=full, is_dry=dry_run, is_forced=force)
    if server is not None:
        shown = _run_there(place.client(server, "admin"), name, request)
    else:
        with place.work(may_begin=True) as context:
            shown = _run_here(context, name, request)
    _report(shown, as_json=as_json)


def list_runs(name: Name, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """List the runs of a pull source, newest first."""
    from feedmill.bootstrap.pullrequests import build_pull_requests
    from feedmill.http.admin.api.pullsources import render_run

    with workplace(data, config).read() as context:
        listed = [render_run(run) for run in build_pull_requests(context).list_runs(name)]
    if as_json:
        print_json(listed)
        return
    for shown in listed:
        # a line each: a table of all counts is wider than a terminal
        console().print(f"{show_time(shown['started_at'] or shown['requested_at'])}  {describe_run(shown)}")
        if shown["reason"]:
            console().print(f"{'':25}{clean(shown['reason'])}")


def pause(name: Name, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Stop the schedule of a pull source; it still runs on request."""
    _pause(name, data, config, is_paused=True, as_json=as_json)


def resume(name: Name, data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Continue the schedule of a pull source."""
    _pause(name, data, config, is_paused=False, as_json=as_json)


def _pause(name: str, data: Data, config: Config, *, is_paused: bool, as_json: bool) -> None:
    from feedmill.bootstrap.pullrequests import build_pull_requests
    from feedmill_client.port import quote_name

    place = workplace(data, config)
    server = place.find_server()
    if server is not None:
        place.client(server, "admin").post_json(f"/api/v1/sources/{quote_name(name)}/{'pause' if is_paused else 'resume'}")
    else:
        with place.work() as context:
            record_command(context, f"sources {'pause' if is_paused else 'resume'}", {"name": name})
            build_pull_requests(context).pause(name, is_paused=is_paused)
    if as_json:
        print_json({"name": name, "paused": is_paused})
    else:
        console().print(f"{clean(name)} is {'paused' if is_paused else 'resumed'}")


def _run_there(client: "ServerPort", name: str, request: RunRequest) -> dict[str, Any]:
    from feedmill_client.port import quote_name

    given = {"full": request.is_full, "dry_run": request.is_dry, "force": request.is_forced}
    shown = client.send_json("POST", f"/api/v1/sources/{quote_name(name)}/runs", {}, {key: "1" for key, is_set in given.items() if is_set})
    seconds = _POLL_SECONDS
    while not RunState(shown["state"]).is_final:
        time.sleep(seconds)
        seconds = min(seconds * 1.5, _MAX_POLL_SECONDS)
        shown = client.get_json(f"/api/v1/runs/{shown['id']}")
    return dict(shown)


def _run_here(context: "AppContext", name: str, request: RunRequest) -> dict[str, Any]:
    """Runs a source in this process, and makes its documents searchable."""
    from feedmill.bootstrap.pulling import build_puller
    from feedmill.bootstrap.pullrequests import build_pull_requests
    from feedmill.http.admin.api.pullsources import render_run

    requests = build_pull_requests(context)
    record_command(context, "sources run", {"name": name})
    queued = requests.request_run(name, request)
    puller = build_puller(context, only=name, start=lambda work: work())
    while not requests.get_run(queued.id).state.is_final:
        if not puller.turn():
            # a process of another machine runs the source
            time.sleep(_MAX_POLL_SECONDS)
    with workers(context) as turn:
        while _has_tasks(context):
            turn()
    return render_run(requests.get_run(queued.id))


def _has_tasks(context: "AppContext") -> bool:
    with context.store.reading() as unit:
        return any(unit.processing.index_tasks.count().values())


def describe_pull(pull: Mapping[str, Any]) -> str:
    """Returns the kind of a pull source, its last run and its next one."""
    last = pull["last_run"]
    parts = [pull["kind"], "no run yet" if last is None else f"run {last['id']} {last['state']}"]
    if pull["paused"]:
        parts.append("paused")
    elif pull["next_run_at"]:
        parts.append(f"next {show_time(pull['next_run_at'])}")
    return ", ".join(parts)


def describe_run(shown: Mapping[str, Any]) -> str:
    """Returns what a run has done, or what it would have done if it was a dry run."""
    counts = _list_counts(shown)
    texts = [f"{count} {key}" for key, count in counts.items()]
    if shown["dry_run"]:
        would = f"would add {counts['added']}, change {counts['changed']}, delete {counts['deleted']}"
        texts = [would, *texts[3:]]
    name = f"{'dry run' if shown['dry_run'] else 'run'} {shown['id']}"
    return ", ".join(filter(None, (name, shown["mode"], shown["state"]))) + ": " + ", ".join(texts)


def _list_counts(shown: Mapping[str, Any]) -> dict[str, int]:
    counts = {key: shown[key] for key in ("added", "changed", "deleted", "unchanged", "errors")}
    return counts | ({"held": shown["held"]} if shown["held"] else {})


def _report(shown: Mapping[str, Any], *, as_json: bool) -> None:
    is_done = shown["state"] == RunState.COMPLETED.value
    if as_json:
        print_json(_list_counts(shown) | ({"reason": shown["reason"]} if shown["reason"] else {}))
    else:
        console().print(describe_run(shown))
    for line in (*shown["log"], *([shown["reason"]] if shown["reason"] and shown["reason"] not in shown["log"] else ())):
        error_console().print(clean(line))
    if not is_done:
        raise typer.Exit(1)
