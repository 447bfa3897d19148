"""``feedmill why``: says whether searches find a URL, and why not."""

from typing import Annotated

import typer

from feedmill.bootstrap.feeds import build_admission
from feedmill.cli.options import DATA, Config, Data, Json, clean, console, print_json, workplace
from feedmill.services.inspection import diagnose_url

WHY_EXAMPLES = """Examples:

  feedmill why http://intranet.example.com/a.html

  feedmill why http://intranet.example.com/a.html --json"""


def why(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL, exactly as it was named.")],
    data: Data = DATA,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Say whether searches find a URL, and why not: patterns, robots.txt, HTTP status, extraction, the index."""
    with workplace(data, config).read() as context:
        found = diagnose_url(context.store, build_admission(context.settings).rules, url)
    if as_json:
        print_json({"url": found.url, "searchable": found.searchable, "state": found.state, "causes": list(found.causes)})
        return
    out = console()
    out.print(clean(f"{found.url}: {found.state}, {'found by searches' if found.searchable else 'not found by searches'}"))
    for cause in found.causes:
        out.print(clean(f"  {cause}"))
