"""``feedmill conformance``: runs the cases of a protocol against a server, and serves counterparts for authors of clients."""

import os
import shlex
import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import unquote, urlsplit

import typer

from feedmill.cli.ending import hold_back, wait_for_ending
from feedmill.cli.options import DATA, Config, Data, Json, clean, console, error_console, print_json
from feedmill.conformance.cases import Case, Outcome, Result, Trial, run_cases

if TYPE_CHECKING:
    from feedmill.conformance.counterparts.script import Script
    from feedmill.conformance.counterparts.server import Counterpart

AT_ONCE = 4
BASE_URL = "http://conformance.example.com/"
SEEDLIST_PATH = "/seedlist/myserver"
PASSWORD_VARIABLE = "FEEDMILL_CONFORMANCE_PASSWORD"  # noqa: S105  a name

T = TypeVar("T", bound=Trial)

ServerUrl = Annotated[str, typer.Option("--url", metavar="URL", help="The server under test.")]
SearchUrl = Annotated[
    str, typer.Option("--search-url", metavar="URL", help="Its search port; without it, cases that search are not tried.")
]
BaseUrl = Annotated[str, typer.Option("--base-url", metavar="URL", help="Where the URLs of pushed documents begin.")]
PushToken = Annotated[
    str,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar="FEEDMILL_PUSH_TOKEN",
        show_envvar=True,
        help="A token of scope push, if the server wants one; only the variable hides it.",
    ),
]
Only = Annotated[list[str] | None, typer.Option("--case", metavar="NAME", help="Only this case; may be repeated.")]
WaitSeconds = Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0.1, help="How long an effect may take.")]
RequestSeconds = Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long one request may take.")]
Certificate = Annotated[
    Path | None,
    typer.Option("--ca", "--cacert", "--certificate", metavar="FILE", exists=True, dir_okay=False, help="Certificates to trust (PEM)."),
]

conformance_app = typer.Typer(no_args_is_help=True, help="Check a server against a protocol, or serve a counterpart for clients.")

CONFORMANCE_EXAMPLES = """Examples:

  feedmill conformance gsa --url http://appliance.example.com:19900 --search-url http://appliance.example.com

  feedmill conformance serve gsa --port 19900"""

_GSA_EXAMPLES = """Example:

  feedmill conformance gsa --url http://127.0.0.1:19900 --search-url http://127.0.0.1:8080"""


_DATALOAD_EXAMPLES = """Example:

  feedmill conformance dataload --url http://127.0.0.1:19900 --search-url http://127.0.0.1:8080 --profile default"""


_SEEDLIST_EXAMPLES = f"""Example:

  {PASSWORD_VARIABLE}=secret feedmill conformance seedlist --url http://127.0.0.1:8080/seedlist/myserver --user crawler"""

_COMMANDS_EXAMPLES = """Example:

  feedmill conformance commands --lister "./list.sh all" --retriever ./get.sh --authorizer ./may.sh --user ann --group staff"""

_AUTHORIZATION_EXAMPLES = """Example:

  feedmill conformance authorization --url https://adaptor.example.com:5678/saml-authz --user ann --denied https://adaptor.example.com:5678/doc/7"""

_SERVE_EXAMPLES = """Examples:

  feedmill conformance serve gsa --port 19900 --record feeds

  feedmill conformance serve seedlist --port 9080 --script list.toml"""


class Kind(StrEnum):
    """The counterparts."""

    GSA = "gsa"
    ADAPTOR = "adaptor"
    DATALOAD = "dataload"
    SEEDLIST = "seedlist"


@conformance_app.command("gsa", epilog=_GSA_EXAMPLES)
def run_gsa(
    url: ServerUrl,
    search_url: SearchUrl = "",
    user_header: Annotated[
        str, typer.Option("--user-header", metavar="NAME", help="The header in which the search port believes the name of a user.")
    ] = "",
    site: Annotated[
        str,
        typer.Option(metavar="URL", help="Where the kit serves pages that the server crawls; without it, cases of crawling are not tried."),
    ] = "",
    base_url: Annotated[
        str, typer.Option(metavar="URL", help="Where the URLs of fed documents begin.")
    ] = "http://conformance.example.com/",
    token: PushToken = "",
    case: Only = None,
    wait: WaitSeconds = 60.0,
    timeout: RequestSeconds = 30.0,
    certificate: Certificate = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run the cases of the Google Search Appliance: feed port, feeds, ACLs, search protocol and crawling."""
    from feedmill.conformance.exchange import Exchange
    from feedmill.conformance.gsa import CASES as GSA_CASES
    from feedmill.conformance.gsa.site import serving_site
    from feedmill.conformance.gsa.trial import FeedTrial, Target, check_feed_port, check_search_port

    del data, config
    cases = _choose(GSA_CASES, case)
    trusted = str(certificate or "")
    target = Target(
        feeds=Exchange(url, seconds=timeout, headers=_prove(token), certificate=trusted),
        search=Exchange(search_url, seconds=timeout, certificate=trusted) if search_url else None,
        user_header=user_header,
        base_url=base_url.rstrip("/") + "/",
        wait_seconds=wait,
    )
    check_feed_port(target)
    check_search_port(target)
    with serving_site(site) if site else nullcontext() as served:
        target = replace(target, site=served)
        _report("gsa", url, _play(cases, lambda each: FeedTrial(target, each)), as_json=as_json)


@conformance_app.command("dataload", epilog=_DATALOAD_EXAMPLES)
def run_dataload(
    url: ServerUrl,
    search_url: SearchUrl = "",
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile that is loaded.")] = "default",
    base_url: BaseUrl = BASE_URL,
    token: PushToken = "",
    case: Only = None,
    wait: WaitSeconds = 60.0,
    timeout: RequestSeconds = 30.0,
    certificate: Certificate = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run the cases of Thunderstone's dataload: items, replies and the search of a profile."""
    from feedmill.conformance import dataload
    from feedmill.conformance.exchange import Exchange

    del data, config
    cases = _choose(dataload.CASES.cases, case)
    trusted = str(certificate or "")
    target = dataload.Target(
        loads=Exchange(url, seconds=timeout, headers=_prove(token), certificate=trusted),
        search=Exchange(search_url, seconds=timeout, certificate=trusted) if search_url else None,
        profile=profile,
        base_url=base_url.rstrip("/") + "/",
        wait_seconds=wait,
    )
    dataload.check_receiver(target)
    _report("dataload", url, _play(cases, lambda each: dataload.LoadTrial(target, each)), as_json=as_json)


@conformance_app.command("seedlist", epilog=_SEEDLIST_EXAMPLES)
def run_seedlist(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The first page of the list; without a path, /seedlist/myserver.")],
    user: Annotated[
        str, typer.Option("--user", metavar="NAME", help=f"The user for HTTP Basic; the password is in {PASSWORD_VARIABLE}.")
    ] = "",
    search_url: Annotated[
        str,
        typer.Option("--search-url", metavar="URL", help="Accepted as for the other kinds, and not used: the cases only read the list."),
    ] = "",
    case: Only = None,
    timeout: RequestSeconds = 30.0,
    certificate: Certificate = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run the cases of seedlists: pages, timestamps, entries and access. They only read."""
    from feedmill.conformance import seedlist
    from feedmill.conformance.exchange import Exchange

    del data, config, search_url
    cases = _choose(seedlist.CASES.cases, case)
    whole, name, password = _read_list_address(url)
    pair = f"{user or name}:{os.environ.get(PASSWORD_VARIABLE, '') or password}".encode()
    headers = {"Authorization": "Basic " + b64encode(pair).decode()} if user or name else {}
    server = Exchange(whole, seconds=timeout, headers=headers, certificate=str(certificate or ""))
    target = seedlist.Target(server=server, url=whole)
    seedlist.check_list(target)
    _report("seedlist", whole, _play(cases, lambda each: seedlist.ListTrial(target, each)), as_json=as_json)


@conformance_app.command("commands", epilog=_COMMANDS_EXAMPLES)
def run_commands(
    lister: Annotated[str, typer.Option(metavar="COMMAND", help="The lister with its arguments.")],
    retriever: Annotated[
        str, typer.Option(metavar="COMMAND", help="The retriever with its arguments, to which the id and the time are added.")
    ] = "",
    authorizer: Annotated[str, typer.Option(metavar="COMMAND", help="The authorizer with its arguments.")] = "",
    user: Annotated[str, typer.Option(metavar="NAME", help="The user for whom the authorizer decides.")] = "",
    group: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A group of the user; may be repeated.")] = None,
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", exists=True, file_okay=False, help="The working folder of the commands.")
    ] = Path(),
    delimiter: Annotated[
        str, typer.Option(metavar="TEXT", help="The delimiter of the questions to the authorizer; NUL if it is empty.")
    ] = "",
    case: Only = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long one command may take.")] = 60.0,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run the cases of command line adaptors: what a lister, a retriever and an authorizer print."""
    from feedmill.conformance import commandstreams

    del data, config
    cases = _choose(commandstreams.CASES.cases, case)
    target = commandstreams.Target(
        lister=_split(lister, "--lister"),
        retriever=_split(retriever, "--retriever") if retriever else (),
        authorizer=_split(authorizer, "--authorizer") if authorizer else (),
        folder=folder.absolute(),
        delimiter=delimiter or "\0",
        user=user,
        groups=tuple(group or ()),
        seconds=timeout,
    )
    commandstreams.check_lister(target)
    _report("commands", lister, _play(cases, lambda each: commandstreams.ProgramTrial(target, each)), as_json=as_json)


@conformance_app.command("authorization", epilog=_AUTHORIZATION_EXAMPLES)
def run_authorization(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="The policy decision point, such as https://HOST:PORT/saml-authz.")],
    user: Annotated[str, typer.Option(metavar="NAME", help="The user for whom the server decides.")],
    permitted: Annotated[list[str] | None, typer.Option(metavar="URL", help="A document that the user may see; may be repeated.")] = None,
    denied: Annotated[list[str] | None, typer.Option(metavar="URL", help="A document that the user may not see; may be repeated.")] = None,
    case: Only = None,
    timeout: RequestSeconds = 30.0,
    certificate: Certificate = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Run the cases of SAML authorization: several queries in one request. They change nothing."""
    from feedmill.conformance import authorization
    from feedmill.conformance.exchange import Exchange

    del data, config
    cases = _choose(authorization.CASES.cases, case)
    parts = urlsplit(url if "://" in url else f"http://{url}")
    server = Exchange(f"{parts.scheme}://{parts.netloc}", seconds=timeout, certificate=str(certificate or ""))
    target = authorization.Target(
        server=server, path=parts.path or "/saml-authz", user=user, permitted=tuple(permitted or ()), denied=tuple(denied or ())
    )
    authorization.check_point(target)
    _report("authorization", url, _play(cases, lambda each: authorization.DecisionTrial(target, each)), as_json=as_json)


def _prove(token: str) -> dict[str, str]:
    """Returns the headers by which requests prove that they may push."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _read_list_address(url: str) -> tuple[str, str, str]:
    """Returns the first page of a seedlist, and the user and the password that stand in its address."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    userinfo, _, host = parts.netloc.rpartition("@")
    name, _, password = userinfo.partition(":")
    path = parts.path if parts.path.strip("/") or parts.query else SEEDLIST_PATH
    return parts._replace(netloc=host, path=path).geturl(), unquote(name), unquote(password)


def _split(command: str, option: str) -> tuple[str, ...]:
    """Returns the program and its arguments. Errors: BadParameter."""
    try:
        arguments = tuple(shlex.split(command))
    except ValueError as exc:
        raise typer.BadParameter(f"{option}: {exc}") from exc
    if not arguments:
        raise typer.BadParameter(f"{option} is empty")
    return arguments


@conformance_app.command("serve", epilog=_SERVE_EXAMPLES)
def serve(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="gsa, dataload, adaptor or seedlist.")],
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 for any free one.")],
    bind: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen at.")] = "127.0.0.1",
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", exists=True, dir_okay=False, help="What it serves, and which faults it has (TOML).")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FOLDER", file_okay=False, help="Where every feed is stored (gsa, dataload).")
    ] = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Serve a counterpart for tests of clients, until SIGTERM or SIGINT."""
    from feedmill.conformance.counterparts.server import serving

    del data, config
    if record is not None:
        record.mkdir(parents=True, exist_ok=True)
    counterpart, rules = _make_counterpart(kind, script, record)
    hold_back()
    with serving(counterpart, rules, folder=script.parent if script else Path(), port=port, bind=bind) as server:
        if as_json:
            print_json({"url": server.url})
        else:
            console().print(f"ready: {server.url}")
        sys.stdout.flush()
        wait_for_ending()


def _make_counterpart(kind: Kind, script: Path | None, record: Path | None) -> "tuple[Counterpart, Script]":
    """Returns a counterpart and its script. Errors: BadSettings."""
    from feedmill.conformance.counterparts.adaptor import Adaptor
    from feedmill.conformance.counterparts.appliance import Appliance
    from feedmill.conformance.counterparts.dataload import DataloadServer
    from feedmill.conformance.counterparts.script import AdaptorScript, ApplianceScript, DataloadScript, SeedlistScript, read_script
    from feedmill.conformance.counterparts.seedlist import SeedlistServer

    if kind is Kind.GSA:
        for_appliance = read_script(script, ApplianceScript)
        return Appliance(for_appliance, record), for_appliance
    if kind is Kind.ADAPTOR:
        for_adaptor = read_script(script, AdaptorScript)
        return Adaptor(for_adaptor, script.parent if script else Path()), for_adaptor
    if kind is Kind.DATALOAD:
        for_dataloads = read_script(script, DataloadScript)
        return DataloadServer(for_dataloads, record), for_dataloads
    for_list = read_script(script, SeedlistScript)
    return SeedlistServer(for_list), for_list


def _choose(cases: Sequence[Case[T]], names: Sequence[str] | None) -> list[Case[T]]:
    known = {case.name for case in cases}
    for name in names or ():
        if name not in known:
            raise typer.BadParameter(f"there is no case '{name}'; --json lists their names")
    return [case for case in cases if not names or case.name in names]


def _play(cases: Sequence[Case[T]], open_trial: Callable[[Case[T]], T]) -> list[Result]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=error_console(), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("running the cases", total=len(cases))
        return run_cases(cases, open_trial, at_once=AT_ONCE, on_result=lambda _: progress.advance(task))


def _report(protocol: str, url: str, results: Sequence[Result], *, as_json: bool) -> None:
    """Prints the results of the cases, and exits with 1 unless all that were tried held."""
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
