"""``feedmill compare``: says where the results of an old appliance and of this server differ."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedmill.cli.options import DATA, Ca, Config, Data, Json, Url, clean, console, print_json, workplace
from feedmill.model.errors import NotFound

if TYPE_CHECKING:
    from feedmill.conformance.comparison import Difference, SearchServer

COMPARE_EXAMPLES = """Examples:

  feedmill compare --old http://gsa.example.com --queries queries.txt

  feedmill compare --old 'http://gsa.example.com/search?site=press&client=intranet' --queries queries.txt --num 20 --json"""


def compare_results(
    old: Annotated[str, typer.Option("--old", metavar="URL", help="The old server's search port or search page.")],
    queries: Annotated[
        Path, typer.Option("--queries", metavar="FILE", exists=True, dir_okay=False, help="The queries, one a line, in UTF-8.")
    ],
    num: Annotated[int, typer.Option(min=1, max=100, help="How many of the best results to compare.")] = 10,
    seconds: Annotated[float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long one request may take.")] = 30.0,
    url: Url = "",
    ca: Ca = None,
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Compare the results of public searches on an old appliance and on this server. Exit 1 if a query cannot be compared."""
    from feedmill.conformance.comparison import SearchServer, compare

    before = SearchServer(old, seconds=seconds, certificate=str(ca or ""))
    after = _find_server(data, config, url, seconds, ca)
    found = []
    for difference in compare(before, after, _read_queries(queries), num):
        found.append(difference)
        if as_json:
            print_json(_render(difference))
        else:
            _print(difference)
    summary = _sum_up(found)
    if as_json:
        print_json(summary)
    else:
        text = "{queries} queries, overlap {overlap:.2f}, {missing} missing, {extra} extra, {errors} not compared"
        console().print(text.format(**summary | {"overlap": summary["overlap"] or 0.0}))
    if summary["errors"]:
        raise typer.Exit(1)


def _find_server(data: Path, config: Path | None, url: str, seconds: float, ca: Path | None) -> "SearchServer":
    from feedmill.conformance.comparison import SearchServer

    if url:
        return SearchServer(url, seconds=seconds, certificate=str(ca or ""))
    place = workplace(data, config)
    server = place.find_server()
    if server is None:
        raise NotFound(f"no server runs on '{data}'; start one with 'feedmill serve --data {data}', or name one with --url")
    port = place.client(server, "search")
    return SearchServer(port.base_url, seconds=seconds, certificate=port.certificate)


def _read_queries(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        yield from filter(None, map(str.strip, lines))


def _render(difference: "Difference") -> dict[str, Any]:
    if difference.error:
        return {"query": difference.query, "error": difference.error}
    return {
        "query": difference.query,
        "overlap": difference.overlap,
        "missing": list(difference.missing),
        "extra": list(difference.extra),
    }


def _print(difference: "Difference") -> None:
    out = console()
    if difference.error:
        out.print(clean(f"error: {difference.query}: {difference.error}"))
        return
    out.print(clean(f"{difference.overlap:.2f}  {difference.query}"))
    for sign, urls in (("-", difference.missing), ("+", difference.extra)):
        for url in urls:
            out.print(clean(f"      {sign} {url}"))


def _sum_up(found: "list[Difference]") -> dict[str, Any]:
    """Returns the summary. ``overlap`` is the mean of the queries that were compared, None if there is none."""
    compared = [difference for difference in found if not difference.error]
    return {
        "queries": len(found),
        "overlap": round(sum(difference.overlap for difference in compared) / len(compared), 4) if compared else None,
        "missing": sum(len(difference.missing) for difference in compared),
        "extra": sum(len(difference.extra) for difference in compared),
        "errors": len(found) - len(compared),
    }
