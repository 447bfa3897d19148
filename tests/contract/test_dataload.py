"""Thunderstone's dataload, from the feed port to a search."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.http.feeds.gateconfig import GateConfig
from tests.contract.dataloadharness import HOST, PATH, DataloadHarness, insert, load_of, open_dataload, results_of, rows_of

OK = {"Type": "I", "Status": "OK"}
REFRESH = "<Type>UI</Type>"
BASE64 = ' dt:dt="bin.base64"'


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataloadHarness]:
    with open_dataload(tmp_path_factory.mktemp("data")) as opened:
        yield opened


def encoded(text: str | bytes) -> str:
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def delete(name: str) -> str:
    return f"<Type>D</Type><Url>{HOST}/{name}</Url>"


# --- types ----------------------------------------------------------------------------------------------------------------------


def test_inserted_document_is_found_after_ui(harness: DataloadHarness) -> None:
    results = harness.load(insert("a", "<Title>Sprockets</Title><Body>all about zebrawood</Body>"), REFRESH)

    assert results == [OK, {"Type": "UI", "Status": "OK"}]
    assert (harness.find("zebrawood"), harness.find("sprockets")) == (["a"], ["a"])


def test_insert_replaces_everything_of_the_url(harness: DataloadHarness) -> None:
    harness.load(insert("replaced", "<Title>First</Title><Body>quaggas</Body><Keywords>stripes</Keywords><Views>3</Views>"))
    harness.load(insert("replaced", "<Body>okapis</Body>"), REFRESH)

    assert harness.find("quaggas") == []
    assert (harness.document("replaced")["title"], harness.document("replaced")["metadata"]) == (None, {})


def test_deleted_document_is_gone_and_an_unknown_one_is_not_found(harness: DataloadHarness) -> None:
    harness.load(insert("short-lived", "<Body>mayflies</Body>"))

    results = harness.load(delete("short-lived"), delete("short-lived"), REFRESH)

    assert results == [{"Type": "D", "Status": "OK"}, {"Type": "D", "Status": "OK", "Info": "Not found"}, {"Type": "UI", "Status": "OK"}]
    assert (harness.find("mayflies"), harness.document("short-lived")) == ([], {})


# --- elements -------------------------------------------------------------------------------------------------------------------


def test_every_element_of_the_manual_is_shown(harness: DataloadHarness) -> None:
    refs = f"<results><result><Url>{HOST}/all</Url><Ref>{HOST}/other</Ref></result><result><Url/><Ref>/third</Ref></result></results>"
    errors = f"<results><result><Url>{HOST}/all</Url><Reason>Document not found: 404 (Not Found)</Reason></result></results>"
    item = f"""
    <Size>150369</Size><Visited>2005-10-25 15:25:18</Visited><Dlsecs>0</Dlsecs><Depth>2</Depth><Title>Specifications</Title>
    <Body>the text</Body><Keywords>sprockets, gears</Keywords><Description>Details</Description><Meta>anything</Meta>
    <Category>Mechanical</Category><Modified>2005-10-25 11:21:07</Modified><NextCheck>2005-10-25 16:25:18</NextCheck><Views>5</Views>
    <Clicks>1</Clicks><CTR>0.200000</CTR><Pop>7</Pop><MimeType>text/html</MimeType><Charset>UTF-8</Charset>
    <Refs{BASE64}>{encoded(refs)}</Refs><Errors{BASE64}>{encoded(errors)}</Errors><RawData{BASE64}></RawData>"""

    assert harness.load(insert("all", item), REFRESH)[0] == OK

    document = harness.document("all")
    assert (document["title"], document["mimetype"], document["datasource"]) == ("Specifications", "text/html", "default")
    assert document["last_modified"].startswith("2005-10-2")
    assert document["metadata"] == {
        "size": ["150369"],
        "visited": ["2005-10-25 15:25:18"],
        "dlsecs": ["0"],
        "depth": ["2"],
        "keywords": ["sprockets, gears"],
        "description": ["Details"],
        "meta": ["anything"],
        "category": ["Mechanical"],
        "nextcheck": ["2005-10-25 16:25:18"],
        "views": ["5"],
        "clicks": ["1"],
        "ctr": ["0.200000"],
        "pop": ["7"],
    }
    assert "Document not found: 404 (Not Found)" in [event["detail"] for event in document["history"]]
    assert (harness.find(f"link:{HOST}/other"), harness.find(f"link:{HOST}/third")) == (["all"], ["all"])


def test_given_elements_override_what_raw_data_holds(harness: DataloadHarness) -> None:
    metas = '<meta name="description" content="own words"><meta name="author" content="Ann">'
    page = f"<html><head><title>Own</title>{metas}</head>pangolins</html>"
    raw = f"<RawData{BASE64}>{encoded(page)}</RawData>"
    harness.load(
        insert("raw", raw),
        insert("titled", raw, "<Title>Given</Title><Description>given words</Description>"),
        insert("texted", raw, "<Body>aardvarks</Body>"),
        REFRESH,
    )

    assert (harness.document("raw")["title"], harness.document("titled")["title"], harness.document("texted")["title"]) == (
        "Own",
        "Given",
        "Own",
    )
    assert (sorted(harness.find("pangolins")), harness.find("aardvarks")) == (["raw", "titled"], ["texted"])
    assert harness.find('inmeta:description="own words"') == ["raw", "texted"]
    assert harness.find('inmeta:description="given words" inmeta:author=ann') == ["titled"]


def test_body_is_plain_text_whatever_its_mime_type(harness: DataloadHarness) -> None:
    harness.load(insert("markup", "<MimeType>text/html</MimeType><Body>&lt;b&gt;quokkas&lt;/b&gt;</Body>"), REFRESH)

    assert harness.document("markup")["mimetype"] == "text/html"
    assert harness.find("quokkas") == ["markup"]


def test_base64_body_is_read_in_its_charset(harness: DataloadHarness) -> None:
    body = f"<Body{BASE64}>{encoded('Blåbærsyltetøy'.encode('latin-1'))}</Body><Charset>ISO-8859-1</Charset>"
    harness.load(insert("latin", body, f"<Title{BASE64}>{encoded('Größe')}</Title>"), REFRESH)

    assert harness.find("blåbærsyltetøy") == ["latin"]
    assert harness.document("latin")["title"] == "Größe"


# --- faults ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "status", "said"),
    [
        (insert("bad", f"<RawData{BASE64}>§§§</RawData>"), "FAIL", "base64"),
        (insert("bad", f"<Title{BASE64}>*</Title>"), "FAIL", "base64"),
        (insert("bad", f"<Refs{BASE64}>{encoded('<results>')}</Refs>"), "FAIL", "Refs"),
        ("<Type>I</Type><Body>x</Body>", "FAIL", "url"),
        ("<Type>D</Type>", "FAIL", "url"),
        (f"<Type>X</Type><Url>{HOST}/bad</Url>", "FAIL_UNKNOWNTYPE", "unknown"),
        (f"<Url>{HOST}/bad</Url>", "FAIL_UNKNOWNTYPE", "missing"),
    ],
)
def test_bad_item_costs_only_itself(harness: DataloadHarness, item: str, status: str, said: str) -> None:
    answer = harness.post(insert("good", "<Body>fine</Body>"), item, insert("good", "<Body>finer</Body>"))

    before, bad, after = results_of(answer)
    assert (before["Status"], bad["Status"], after["Status"], rows_of(answer)) == ("OK", status, "OK", "3")
    assert said in bad["Info"]
    assert harness.document("bad") == {}


def test_value_of_a_wrong_type_costs_only_the_value(harness: DataloadHarness) -> None:
    values = (
        "<Size>big</Size><CTR>often</CTR><Visited>yesterday</Visited><Modified>never</Modified><Category>Sports</Category><Views>2</Views>"
    )

    (result,) = harness.load(insert("typed", values, "<Charset>nonsense</Charset>"))

    assert result["Status"] == "OK"
    assert all(name in result["Info"] for name in ("Size", "CTR", "Visited", "Modified", "Category", "Charset"))
    document = harness.document("typed")
    assert (document["metadata"], document["last_modified"]) == ({"views": ["2"]}, None)


@pytest.mark.parametrize("data", ["", "no xml", "<other/>", load_of(insert("cut"))[:-9]])
def test_unreadable_data_is_no_data_and_changes_nothing(harness: DataloadHarness, data: str) -> None:
    answer = harness.post_form({"profile": "default", "data": data})

    assert (answer.status, results_of(answer)[0]["Status"], rows_of(answer)) == (200, "NODATA", "0")
    assert harness.document("cut") == {}


@pytest.mark.parametrize("fields", [{"data": load_of()}, {"profile": "other", "data": load_of()}])
def test_unknown_profile_is_no_profile(harness: DataloadHarness, fields: dict[str, str]) -> None:
    answer = harness.post_form(fields)

    assert (answer.status, results_of(answer)[0]["Status"], rows_of(answer)) == (200, "No Profile", "0")


def test_dataload_without_items_has_no_results(harness: DataloadHarness) -> None:
    answer = harness.post()

    assert (results_of(answer), rows_of(answer)) == ([], "0")


# --- senders and forms ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "forwarded", "status"),
    [
        ("127.0.0.1", "", "OK"),
        ("10.1.2.7", "", "OK"),
        ("10.1.3.7", "", "Not Allowed"),
        ("127.0.0.1", "10.1.2.7, 127.0.0.1", "OK"),
        ("127.0.0.1", "10.1.2.7, 10.9.9.9", "Not Allowed"),
        ("127.0.0.1", "nonsense", "Not Allowed"),
    ],
)
def test_every_address_of_the_sender_must_be_allowed(harness: DataloadHarness, peer: str, forwarded: str, status: str) -> None:
    headers = {"x-forwarded-for": forwarded} if forwarded else {}

    answer = harness.post(REFRESH, peer=peer, headers=headers)

    assert (answer.status, results_of(answer)[0]["Status"]) == (200, status)


def test_trusted_address_needs_the_profile_too(tmp_path: Path) -> None:
    with open_dataload(tmp_path, config=GateConfig()) as harness:
        assert harness.load(REFRESH) == [{"Status": "No Profile", "Info": "there is no profile 'default'"}]


@pytest.mark.parametrize("path", [PATH, "/recvdata.xml", "/a/b/c/recvdata.xml"])
def test_any_path_with_the_name_receives_dataloads(harness: DataloadHarness, path: str) -> None:
    answer = harness.post(REFRESH, path=path)

    assert results_of(answer) == [{"Type": "UI", "Status": "OK"}]
    assert answer.headers["content-type"] == "text/xml; charset=utf-8"
    assert answer.headers["x-feedmill-feed"]


def test_page_of_another_site_cannot_load(harness: DataloadHarness) -> None:
    assert harness.post(REFRESH, headers={"origin": "http://evil.example"}).status == 403
