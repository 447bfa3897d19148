"""What the query language promises, tested on a whole server that was fed over the wire."""

import sqlite3
from pathlib import Path

from feedmill.adapters.index.tantivy.schema import SCHEMA_VERSION, SERVED_VERSIONS
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_for

_OLDER = min(SERVED_VERSIONS)
_FEED = make_feed(
    make_record(
        "http://shop.example.com/a.html",
        '<html><title>Red lamp</title>a lamp of 40 watts,\nsee <a href="b.html">others</a></html>',
        [("Price.Now", "$9.50"), ("Made", "2010-01-02"), ("Team", "Legal Affairs")],
        last_modified="Sat, 05 Mar 2011 10:00:00 GMT",
    ),
    make_record(
        "http://shop.example.com/b.html",
        "<html><title>Blue chair</title>a chair\nbelow a lamp of 400W, 0,45 kW with another, for $9.99</html>",
        [("price.now", "1,200"), ("made", "3 Feb 2012"), ("team", "Sales")],
        last_modified="Sun, 06 Mar 2011 10:00:00 GMT",
    ),
    datasource="shop",
    feedtype="incremental",
)

_EXPECTED = {
    "allintitle: red lamp": "a",
    "lamp -intitle:lamp": "b",
    "lamp 30..50": "a",
    "lamp 30..50w": "a",
    "chair 0,4..0,5 kW": "b",
    "lamp $5..$10 -30..50": "b",
    "filetype:html daterange:2011-03-06..2011-03-07": "b",
    "link:http://shop.example.com/b.html": "a",
    "inmeta:price%2Enow:9..100": "a",
    "inmeta:PRICE.NOW:100..": "b",
    "inmeta:made:daterange:2012-02-03..2012-02-03": "b",
    "inmeta:team~aff*": "a",
    "inmeta:team=legal%20affairs OR inmeta:team=nobody": "a",
    "-inmeta:team=sales": "a",
}


def _find(server: Appliance, query: str, **parameters: str | int) -> str:
    urls = [result["url"] for result in server.search(query, **parameters)["results"]]
    return "".join(url.removeprefix("http://shop.example.com/").removesuffix(".html") for url in urls)


def test_operators_over_the_wire_and_in_a_rebuilt_index(tmp_path: Path) -> None:
    server = Appliance(tmp_path).start()
    try:
        server.feed(_FEED, datasource="shop")
        assert {query: _find(server, query) for query in _EXPECTED} == _EXPECTED
        assert _find(server, "", requiredfields="made", sort="meta:price.now:D") == "ba"
        assert _find(server, "lamp", partialfields="team:legal|team:sales", sort="date:A:R:d1") == "ab"
    finally:
        server.stop()
    (store,) = tmp_path.rglob("*.sqlite")
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE key_values SET value = '1-1' WHERE name = 'index.folder'")
    connection.close()
    server = Appliance(tmp_path).start()
    try:
        wait_for(_EXPECTED, lambda: {query: _find(server, query) for query in _EXPECTED})
        wait_for(f"{SCHEMA_VERSION}-2", lambda: _find_folder(store))
    finally:
        server.stop()
    (folder,) = (store.parent / "index").iterdir()
    folder.rename(folder.with_name(f"{_OLDER}-7"))
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE key_values SET value = ? WHERE name = 'index.folder'", (f"{_OLDER}-7",))
    connection.close()
    server = Appliance(tmp_path).start()
    try:
        answer = server.search("lamp")
        assert (len(answer["results"]), answer["warnings"]) == (2, []), "the old folder serves until the new one is full"
        server.feed(_FEED.replace(b"a.html", b"c.html"), datasource="shop")
        wait_for(f"{SCHEMA_VERSION}-1", lambda: _find_folder(store))
        assert sorted(_find(server, "allintitle:red lamp")) == ["a", "c"]
    finally:
        server.stop()


def _find_folder(store: Path) -> str:
    with sqlite3.connect(store) as connection:
        ((folder,),) = connection.execute("SELECT value FROM key_values WHERE name = 'index.folder'").fetchall()
    connection.close()
    return str(folder)
