"""``feedmill conformance``: plays the cases of a protocol against a server, and serves counterparts for authors of clients."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from feedmill.cli.options import DATA, Config, Data, Json, clean, console, error_console, print_json
from feedmill.conformance import dataload
from feedmill.conformance.cases import Case, Outcome, Result, Trial, run_cases
from feedmill.conformance.exchange import Exchange
from feedmill.conformance.gsa import CASES as GSA_CASES
from feedmill.conformance.gsa.trial import FeedTrial, Target, check_feed_port, check_search_port

AT_ONCE = 4
BASE_URL = "http://conformance.example.com/"

T = TypeVar("T", bound=Trial)

ServerUrl = Annotated[str, typer.Option("--url", metavar="URL", help="The server under test.")]
SearchUrl = Annotated[
    str, typer.Option("--search-url", metavar="URL", help="Its search port; without it, cases that search are not tried.")
]
BaseUrl = Annotated[str, typer.Option("--base-url", metavar="URL", help="Where the URLs of pushed documents begin.")]
Only = Annotated[list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case; may be repeated.")]
WaitSeconds = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0.1, help="How long an effect may take.")]
RequestSeconds = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long one request may take.")]
Certificate = Annotated[
    Path | None, typer.Option("--certificate", metavar="FILE", exists=True, dir_okay=False, help="Certificates to trust (PEM).")
]

conformance_app = typer.Typer(no_args_is_help=True, help="Check a server against a protocol, or serve a counterpart for clients.")

_GSA_EXAMPLES = """Example:

  feedmill conformance gsa --url http://127.0.0.1:19900 --search-url http://127.0.0.1:8080"""


_DATALOAD_EXAMPLES = """Example:

  feedmill conformance dataload --url http://127.0.0.1:19900 --search-url http://127.0.0.1:8080 --profile default"""


@conformance_app.command("gsa", epilog=_GSA_EXAMPLES)
def play_gsa(
    url: ServerUrl,
    search_url: SearchUrl = "",
    user_header: Annotated[
        str, typer.Option("--user-header", metavar="NAME", help="The header by which the search port believes who a user is.")
    ] = "",
    base_url: Annotated[
        str, typer.Option(metavar="URL", help="Where the URLs of fed documents begin.")
    ] = "http://conformance.example.com/",
    case: Only = None,
    wait: WaitSeconds = 60.0,
    timeout: RequestSeconds = 30.0,
    certificate: Certificate = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Play the cases of the Google Search Appliance: feed port, feeds, ACLs and search protocol."""
    del data, config
    cases = _choose(GSA_CASES, case)
    trusted = str(certificate or "")
    target = Target(
        feeds=Exchange(url, seconds=timeout, certificate=trusted),
        search=Exchange(search_url, seconds=timeout, certificate=trusted) if search_url else None,
        user_header=user_header,
        base_url=base_url.rstrip("/") + "/",
        wait_seconds=wait,
    )
    check_feed_port(target)
    check_search_port(target)
    _report("gsa", url, _play(cases, lambda each: FeedTrial(target, each)), as_json=as_json)


@conformance_app.command("dataload", epilog=_DATALOAD_EXAMPLES)
def play_dataload(
    url: ServerUrl,
    search_url: SearchUrl = "",
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile that is loaded.")] = "default",
    base_url: BaseUrl = BASE_URL,
    case: Only = None,
    wait: WaitSeconds = 60.0,
    timeout: RequestSeconds = 30.0,
    certificate: Certificate = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Play the cases of Thunderstone's dataload: items, replies and the search of a profile."""
    del data, config
    cases = _choose(dataload.CASES.cases, case)
    trusted = str(certificate or "")
    target = dataload.Target(
        loads=Exchange(url, seconds=timeout, certificate=trusted),
        search=Exchange(search_url, seconds=timeout, certificate=trusted) if search_url else None,
        profile=profile,
        base_url=base_url.rstrip("/") + "/",
        wait_seconds=wait,
    )
    dataload.check_receiver(target)
    _report("dataload", url, _play(cases, lambda each: dataload.LoadTrial(target, each)), as_json=as_json)


def _choose(cases: Sequence[Case[T]], names: Sequence[str] | None) -> list[Case[T]]:
    known = {case.name for case in cases}
    for name in names or ():
        if name not in known:
            raise typer.BadParameter(f"there is no case '{name}'; --json lists their names")
    return [case for case in cases if not names or case.name in names]


def _play(cases: Sequence[Case[T]], open_trial: Callable[[Case[T]], T]) -> list[Result]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=error_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("playing the cases", total=len(cases))
        return run_cases(cases, open_trial, at_once=AT_ONCE, on_result=lambda _: progress.advance(task))


def _report(protocol: str, url: str, results: Sequence[Result], *, as_json: bool) -> None:
    """Prints what became of the cases, and exits with 1 unless all that were tried held."""
    counts = {outcome: sum(result.outcome is outcome for result in results) for outcome in Outcome}
    if as_json:
        print_json({"protocol": protocol, "url": url, **_render_counts(counts), "cases": [_render_result(result) for result in results]})
    else:
        _print_table(results)
        texts = [f"{count} {outcome.value}" for outcome, count in counts.items()]
        console().print(clean(f"\n{url}: {', '.join(texts)}"))
    if counts[Outcome.FAILED] or not counts[Outcome.HELD]:
        raise typer.Exit(1)


def _print_table(results: Sequence[Result]) -> None:
    out = console()
    width = max((len(result.name) for result in results), default=0)
    for result in results:
        sources = "; ".join(result.sources)
        out.print(clean(f"{result.outcome.value:<9}  {result.name:<{width}}  {result.expectation}  [{sources}]"))
        if result.detail:
            out.print(clean(f"{'':<9}  {'':<{width}}  -> {result.detail}"))


def _render_counts(counts: dict[Outcome, int]) -> dict[str, int]:
    return {outcome.value.replace(" ", "_"): count for outcome, count in counts.items()}


def _render_result(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "expectation": result.expectation,
        "sources": list(result.sources),
        "outcome": result.outcome.value,
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
    }
