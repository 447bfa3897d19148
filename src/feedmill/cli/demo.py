"""The demonstration: a server that feeds itself its own manual, and any folder given, through its own feed port.

``python -m feedmill.cli.demo [--folder DIR] [--once]``. It stores its data in ``data/demo`` and uses them again the next time.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from feedmill.adapters.manual import PackagedManual
from feedmill.bootstrap.feedmaking import make_feeds
from feedmill.cli.demofiles import serving_files
from feedmill.cli.options import clean, console
from feedmill.cli.push import follow, send_file
from feedmill.cli.serverport import ServerPort
from feedmill.cli.workplace import Workplace
from feedmill.model.errors import BadRequest, Busy, Conflict, FeedmillError, NotFound
from feedmill.model.feed import FeedKind
from feedmill.runtime.runstate import RunState
from feedmill.runtime.server.sockets import listener_addresses, open_listener
from feedmill.services.feeds.feedmaking import FeedPlan
from feedmill.settings import Settings

DATA = Path("data/demo")
SAMPLE_QUERY = "push a feed"


def demo(
    folder: Annotated[list[Path] | None, typer.Option(help="A folder to feed too; may be repeated.", exists=True, file_okay=False)] = None,
    once: Annotated[bool, typer.Option("--once", help="End after the sample result.")] = False,
    data: Annotated[Path, typer.Option(help="Data folder of the demonstration.")] = DATA,
) -> None:
    """Start a server, feed it its manual, show a search, and continue to serve."""
    out = console()
    place = Workplace(data=data, config=None)
    folders = {"folder" if number == 1 else f"folder{number}": path for number, path in enumerate(folder or [], 1)}
    with _server(place) as (process, server), _serving(folders) as urls:
        out.print(f"the server runs on {data}, its log is {data / 'server.log'}")
        _feed_folder(place, server, PackagedManual().folder, "manual", f"{server.url('search')}/manual/", include=("*.md",))
        for name, path in folders.items():
            _feed_folder(place, server, path, name, urls[name])
            out.print(clean(f"the files of {path} are at {urls[name]} while this runs"))
        _show_search(place, server)
        if once:
            return
        out.print(f"the server goes on, its search page is {server.url('search')}/; end it with ctrl-c")
        process.wait()


@contextmanager
def _serving(folders: Mapping[str, Path]) -> Iterator[Mapping[str, str]]:
    """Serves the files of folders, and returns the URL of each folder. Without folders no port is opened."""
    if not folders:
        yield {}
        return
    with serving_files(folders) as files:
        yield {name: files.url(name) for name in folders}


@contextmanager
def _server(place: Workplace) -> Iterator[tuple[subprocess.Popen[str], RunState]]:
    """Runs a server as ``feedmill serve`` does, on the usual ports, or on free ones if those are taken."""
    if place.find_server() is not None:
        raise Conflict(f"a server runs on '{place.data}' already; end it first")
    place.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = [sys.executable, "-m", "feedmill.cli.main", "serve", "--data", str(place.data)]
    # who ends the demonstration ends its server too, whichever signal they send
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (place.data / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=os.environ | _free_ports(), stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        yield process, _wait_until_ready(process, place)
    except KeyboardInterrupt:
        console().print("ending")
    finally:
        process.terminate()
        process.wait()


def _free_ports() -> dict[str, str]:
    """Returns port 0, a free one, for every usual port that is taken."""
    chosen = {}
    for name, (bind, port) in listener_addresses(Settings()).items():
        variable = f"FEEDMILL_{name.upper()}_PORT"
        try:
            open_listener(name, bind, port).close()
        except Conflict:
            if variable not in os.environ:
                chosen[variable] = "0"
    return chosen


def _wait_until_ready(process: subprocess.Popen[str], place: Workplace) -> RunState:
    assert process.stdout is not None
    line = process.stdout.readline()
    server = place.find_server()
    if line != "ready\n" or server is None:
        log = place.data / "server.log"
        errors = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("error: ")]
        raise Busy(f"the server did not start{''.join(f'; {line}' for line in errors[-1:])}; see {log}")
    return server


def _feed_folder(place: Workplace, server: RunState, folder: Path, name: str, base_url: str, include: tuple[str, ...] = ()) -> None:
    if not folder.is_dir():
        raise NotFound(f"there is no folder '{folder}'")
    plan = FeedPlan(
        folder=folder.absolute(),
        output=place.data.absolute() / f"{name}.xml",
        datasource=name,
        kind=FeedKind.FULL,
        base_url=base_url,
        include=include,
        exclude=(".git", "__pycache__"),
    )
    made = make_feeds(plan)
    client = place.client(server, "gate")
    for file in made.files:
        begun = time.monotonic()
        feed_id = send_file(client, "/xmlfeed", {"datasource": name, "feedtype": file.kind.value}, file.path)
        if feed_id is None:
            raise BadRequest("the server returned no receipt")
        receipt = follow(client, feed_id)
        seconds = time.monotonic() - begun
        summary = f"{receipt['state']}: {receipt['included']} documents of {folder}, {receipt['errors']} in error, {seconds:.1f} s"
        console().print(clean(f"feed {feed_id} of {name} {summary}"))
    for path, reason in made.left_out:
        console().print(clean(f"left out: {path}: {reason}"))


def _show_search(place: Workplace, server: RunState) -> None:
    out = console()
    client: ServerPort = place.client(server, "search")
    page = client.get_json("/api/v1/search", {"q": SAMPLE_QUERY, "num": 3})
    out.print(f"a search for '{SAMPLE_QUERY}' finds {page['total']} documents, the best first:")
    for result in page["results"]:
        out.print(clean(f"  {result['title'] or result['display_url']}  <{result['display_url']}>"))
        out.print(clean(f"    {result['snippet'].replace(chr(10), ' ')}"))


def main() -> None:
    try:
        typer.run(demo)
    except FeedmillError as exc:
        console().print(clean(f"error: {exc}"))
        sys.exit(1)


if __name__ == "__main__":
    main()
