"""``feedmill search``: searches as a user who is not signed in, or as one whom the operator names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.auditing import record_command
from feedmill.cli.options import (
    DATA,
    Ca,
    Config,
    Data,
    Groups,
    Json,
    Namespace,
    Url,
    amount,
    check_ca,
    check_number,
    clean,
    console,
    print_json,
    workplace,
)
from feedmill.core.access.principals import read_identity
from feedmill.model.access import ANONYMOUS, AccessClass
from feedmill.model.audit import AuditKind, Details
from feedmill.model.errors import BadRequest, Corrupt, Denied, NotFound
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.search import Match, SearchRequest

if TYPE_CHECKING:
    from rich.text import Text

    from feedmill.bootstrap.context import AppContext
    from feedmill.cli.serverport import ServerPort
    from feedmill.ports import UnitOfWork

LOOKED_AT = 100_000
"""How many documents are looked at for one that is not public."""

SEARCH_EXAMPLES = """Examples:

  feedmill search 'annual report'

  feedmill search 'inmeta:department=sales site:intranet.example.com' --num 50 --json

  feedmill search salaries --user 'CORP\\ann'

  feedmill search travel --facet @filetype --facet department --select @date:2026-01-01..2026-12-31"""


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="As typed on the search page.")],
    start: Annotated[int, typer.Option(min=0, callback=check_number, help="How many results to skip.")] = 0,
    num: Annotated[int, typer.Option(min=1, max=1000, help="How many results to show.")] = 10,
    match: Annotated[Match, typer.Option(help="How many of the words must occur.")] = Match.AUTO,
    facet: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A facet to count, such as department or @filetype.")] = None,
    select: Annotated[list[str] | None, typer.Option(metavar="NAME:VALUE", help="What results must have of a facet.")] = None,
    getfields: Annotated[str, typer.Option(help="Metadata to show: names divided by dots, * for all.")] = "",
    user: Annotated[str, typer.Option("--user", metavar="U", help="Search as this user: NAME, DOMAIN\\NAME or NAME@DOMAIN.")] = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    groups: Groups = None,
    url: Url = "",
    ca: Ca = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Search. The results are those that every user may see, signed in or not; with --user, those that this user may see.

    Documents about which other servers decide are left out, since they want to know who signed in.
    """
    if url and (user or groups):
        advice = "leave out --url on the server's machine, or use the Python client with a token of scope search"
        raise typer.BadParameter(f"with --url a search is not signed in; {advice}")
    check_ca(ca, url)
    hints: list[str] = []
    if url:
        from feedmill.cli.serverport import ServerPort

        parameters = {"q": query, "start": start, "num": num, "match": match.value, "getfields": getfields}
        page = _search_there(ServerPort(base_url=url, ca_file=str(ca or "")), parameters | {"facet": facet or [], "select": select or []})
    else:
        _check_facets(facet or (), select or ())
        request = SearchRequest(
            query=query,
            start=start,
            num=num,
            match=match,
            getfields=tuple(getfields.split(".")) if getfields else (),
            facet_names=tuple(facet or ()),
            selected=tuple(select or ()),
            is_strict=True,
        )
        from feedmill.bootstrap.search import build_search_services
        from feedmill.wire.results.json import render_page

        place = workplace(data, config)
        with place.read() as context:
            if place.find_server() is None:
                _check_index(context)
            services = build_search_services(context)
            access = ANONYMOUS
            if user or groups:
                details: Details = {"user": user, "namespace": namespace, "groups": groups or [], "query": query}
                record_command(context, "search", details, AuditKind.DECISION_REQUESTED)
                access = services.filters.find_filter(read_identity(user, namespace, groups or ())).without_late()
            page = json.loads(render_page(services.searcher.search(request, access), shows_scores=True))
            hints = [] if page["total"] else list(_explain_nothing(context, is_for_user=access is not ANONYMOUS))
    if as_json:
        print_json(page)
        return
    _print_page(page, start)
    for hint in hints:
        console().print(f"note: {hint}")


def _check_index(context: "AppContext") -> None:
    """Refuses to search an index that has been removed, in which nothing would be found. Errors: Corrupt."""
    from feedmill.services.indexing.rebuilding import has_lost_index

    if has_lost_index(context.store, context.index()):
        raise Corrupt(f"the index of '{context.data}' is lost; 'feedmill reindex' builds it again, and so does 'feedmill serve'")


def _explain_nothing(context: "AppContext", *, is_for_user: bool) -> Iterator[str]:
    """Yields why a search of this machine's administrator may have found nothing, and what to try."""
    with context.store.reading() as unit:
        documents, waiting = unit.documents.scan.count_live(), sum(unit.processing.index_tasks.count().values())
        are_some_secure = not is_for_user and _has_secure(unit)
    if not documents:
        yield "there are no documents yet; 'feedmill push' feeds some, and 'feedmill sources run' reads a pull source"
        return
    if waiting:
        yield f"the index waits for {amount(waiting, 'document')}; 'feedmill status' shows the progress"
    if are_some_secure:
        yield "this search finds public documents alone, and some are not; --user NAME searches as a user"
    options = " --user NAME" if is_for_user else ""
    yield f"'feedmill why URL{options} --query QUERY' says why a search does not find a document"


def _has_secure(unit: "UnitOfWork") -> bool:
    """Returns whether one of the first documents is not public."""
    held = unit.access.class_periods.list_held(after=0, limit=LOOKED_AT)
    return any(number != AccessClass.PUBLIC for number in held.values())


def _search_there(port: "ServerPort", parameters: Mapping[str, Any]) -> Any:
    try:
        return port.get_json("/api/v1/search", parameters)
    except (NotFound, Denied) as exc:
        reason = "" if isinstance(exc, NotFound) else f" ({exc})"
        advice = "give the address of the search port, which is 8080 by default"
        raise type(exc)(f"{port.base_url} answers no searches{reason}; {advice}") from exc


def _check_facets(names: Sequence[str], selections: Sequence[str]) -> None:
    from feedmill.core.query.selections import check_facet_names, check_selections

    try:
        check_facet_names(names)
        check_selections(selections)
    except BadRequest as exc:
        raise typer.BadParameter(str(exc)) from exc


def _print_page(page: dict[str, Any], start: int) -> None:
    from rich.text import Text

    out = console()
    for warning in page["warnings"]:
        out.print(clean(f"note: {warning}"))
    about = "" if page["exact"] else "about "
    out.print(f"{about}{amount(page['total'], 'result')}")
    if page.get("spelling"):
        out.print(clean(f"did you mean: {page['spelling']}"))
    for place, result in enumerate(page["results"], start + 1):
        out.print()
        out.print(Text(clean(f"{place}. {result['title'] or result['display_url']}"), style="bold"))
        out.print(Text(clean(f"   {result['display_url']}"), style="green"))
        if result["snippet"]:
            out.print(Text("   ") + _highlight(result))
        if result.get("missing"):
            out.print(Text(clean(f"   without: {' '.join(result['missing'])}"), style="dim"))
        for name, values in result["metadata"].items():
            out.print(Text(clean(f"   {name}: {'; '.join(values)}"), style="dim"))
    for facet in page["facets"]:
        out.print()
        out.print(Text(clean(facet["label"]), style="bold"))
        for value in facet["values"]:
            shown = value["value"] if value["value"] is not None else f"{_end(value['low'])}..{_end(value['high'])}"
            out.print(Text(clean(f"   {shown}  {value['count']}")))


def _end(end: float | str | None) -> str:
    return "" if end is None else str(end)


def _highlight(result: dict[str, Any]) -> "Text":
    from rich.text import Text

    text = Text(clean(result["snippet"]).replace("\n", " "))
    for begin, end in result.get("snippet_marks", ()):
        text.stylize("bold", begin, end)
    return text
