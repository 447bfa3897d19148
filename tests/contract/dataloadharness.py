"""A server with a dataload profile, from the feed port to a search, without processes."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from starlette.applications import Starlette

from feedmill.bootstrap.context import AppContext, open_context
from feedmill.bootstrap.feeds import build_feeder
from feedmill.bootstrap.index import build_extracting, build_indexing
from feedmill.bootstrap.intake import build_intake
from feedmill.bootstrap.search import build_search_services
from feedmill.core.urls.networks import parse_allowed
from feedmill.http.feeds.app import gate_app
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import ANONYMOUS
from feedmill.model.search import SearchRequest
from feedmill.runtime.migration import migrate
from feedmill.services.feeds.feeder import FeederLane
from feedmill.settings import Settings
from feedmill.settings.dataload import DataloadSettings, ProfileSettings
from feedmill.settings.sections import StoreSettings
from tests.asgi import Answer, ask_app, send_request
from tests.migratedstore import prepare_migrated

PATH = "/texis/dowalk/recvdata.xml"
HOST = "http://www.example.com"
PROFILE = ProfileSettings(name="default", allowed=("127.0.0.0/8", "10.1.2.*"), categories=("Press", "Mechanical"))


def load_of(*items: str) -> str:
    """Returns a dataload of items."""
    head = '<ThunderstoneReplication xmlns:dt="urn:schemas-microsoft-com:datatypes">'
    return f"{head}{''.join(f'<Item>{item}</Item>' for item in items)}</ThunderstoneReplication>"


def insert(name: str, *inside: str) -> str:
    """Returns the elements of an item that inserts a document."""
    return f"<Type>I</Type><Url>{HOST}/{name}</Url>{''.join(inside)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataloadHarness:
    """The feed port of a server whose feeder, extractor and indexer run in threads."""

    context: AppContext
    app: Starlette

    def post(self, *items: str, profile: str = "default", **given: Any) -> Answer:
        """Posts a dataload."""
        return self.post_form({"profile": profile, "data": load_of(*items)}, **given)

    def post_form(self, fields: dict[str, str], *, path: str = PATH, **given: Any) -> Answer:
        """Posts a form as it is."""
        headers = {"content-type": "application/x-www-form-urlencoded", **given.pop("headers", {})}
        return ask_app(self.app, "POST", path, body=urlencode(fields).encode(), headers=headers, **given)

    async def send(self, *items: str, **given: Any) -> Answer:
        """Posts a dataload from a running event loop."""
        body = urlencode({"profile": "default", "data": load_of(*items)}).encode()
        return await send_request(self.app, "POST", PATH, body=body, headers={"content-type": "application/x-www-form-urlencoded"}, **given)

    def load(self, *items: str, **given: Any) -> list[dict[str, str]]:
        """Posts a dataload and returns what the reply says of each item."""
        return results_of(self.post(*items, **given))

    def document(self, name: str) -> dict[str, Any]:
        """Returns what the API of the feed port says of a document."""
        answer = ask_app(self.app, "GET", "/api/v1/documents", query=f"url={HOST}/{name}")
        found: dict[str, Any] = answer.json
        return found if answer.status == 200 else {}

    def find(self, query: str, **given: Any) -> list[str]:
        """Returns the names of the documents that anonymous users find."""
        searcher = build_search_services(self.context).searcher
        return [result.url.removeprefix(f"{HOST}/") for result in searcher.search(SearchRequest(query=query, **given), ANONYMOUS).results]

    def search_port(self) -> Starlette:
        """Returns the application of the search port."""
        site = SearchSite(find_profile=self.context.settings.dataload.find_profile)
        return search_app(build_search_services(self.context), site)


def results_of(answer: Answer) -> list[dict[str, str]]:
    """Returns the elements of each result in a reply."""
    root = ET.fromstring(answer.body)
    return [{each.tag: each.text or "" for each in result if each.tag != "rid"} for result in root.findall("ItemResult")]


def rows_of(answer: Answer) -> str:
    return ET.fromstring(answer.body).findtext("Rows") or ""


@contextmanager
def open_dataload(
    tmp_path: Path,
    profiles: Sequence[ProfileSettings] = (PROFILE,),
    config: GateConfig | None = None,
    *,
    applies: bool = True,
    indexes: bool = True,
    store_url: str = "",
) -> Iterator[DataloadHarness]:
    settings = Settings(dataload=DataloadSettings(profiles=tuple(profiles)), store=StoreSettings(url=store_url))
    if store_url:
        migrate(tmp_path, settings)
    else:
        prepare_migrated(tmp_path)
    is_over = Event()
    config = config or GateConfig(profiles={profile.name: parse_allowed(profile.allowed) for profile in profiles})
    with open_context(tmp_path, settings) as context, ThreadPoolExecutor(1) as workers:
        app = gate_app(config=lambda: config, intake=build_intake(context), dtd="", count_feed=lambda *_: None, find_problems=list)
        working = workers.submit(_work, context, is_over, applies, indexes)
        try:
            yield DataloadHarness(context=context, app=app)
        finally:
            is_over.set()
            working.result()


def _work(context: AppContext, is_over: Event, applies: bool, indexes: bool) -> None:
    feeder = build_feeder(context, FeederLane(owner="feeder"))
    with closing(build_extracting(context)) as extracting, closing(build_indexing(context)) as indexing:
        while not is_over.is_set():
            if not any([applies and feeder.turn(), extracting.turn(), indexes and indexing.turn()]):
                context.notifier.wait(0.01)
