"""Thunderstone's dataload, from the feed port to a search."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.model.search import Sort
from feedmill.settings.dataload import FieldSettings, ProfileSettings
from tests.asgi import ask_app
from tests.contract.databases import NewDatabase
from tests.contract.dataloadharness import HOST, PATH, PROFILE, DataloadHarness, insert, load_of, open_dataload, results_of, rows_of

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


def update(name: str, *inside: str) -> str:
    return f"<Type>U</Type><Url>{HOST}/{name}</Url>{''.join(inside)}"


def test_update_leaves_what_it_does_not_state(harness: DataloadHarness) -> None:
    values = (
        "<Keywords>one</Keywords><Views>1</Views><Clicks>1</Clicks><Modified>2020-01-02 03:04:05</Modified><MimeType>text/html</MimeType>"
    )
    harness.load(insert("updated", "<Title>First</Title><Body>wombats</Body>", values))
    before = harness.document("updated")

    results = harness.load(update("updated", "<Views>2</Views><Clicks></Clicks><CTR>wrong</CTR><Title>Second</Title>"), REFRESH)

    assert [result["Status"] for result in results] == ["OK", "OK"]
    after = harness.document("updated")
    assert (after["title"], after["metadata"]) == ("Second", {"keywords": ["one"], "views": ["2"]})
    assert [after[name] for name in ("last_modified", "mimetype")] == [before[name] for name in ("last_modified", "mimetype")]
    assert (harness.find("wombats"), harness.find("second"), harness.find("first")) == (["updated"], ["updated"], [])


def test_update_of_the_body_leaves_title_and_metadata(harness: DataloadHarness) -> None:
    harness.load(insert("rewritten", "<Title>Stays</Title><Body>bilbies</Body><Meta>stays too</Meta>"))

    harness.load(update("rewritten", "<Body>numbats</Body>"), REFRESH)

    document = harness.document("rewritten")
    assert (document["title"], document["metadata"]) == ("Stays", {"meta": ["stays too"]})
    assert (harness.find("numbats"), harness.find("bilbies")) == (["rewritten"], [])


def test_update_of_the_body_leaves_the_document_of_raw_data(harness: DataloadHarness) -> None:
    page = "<html><head><title>Own</title><meta name=author content=Zelda></head>quolls</html>"
    raw = f"<RawData{BASE64}>{encoded(page)}</RawData>"
    harness.load(insert("joined", raw), insert("both", raw, "<Body>wallabies</Body>"), insert("bare", "<Body>wallabies</Body>"))

    later = [update(name, "<Body>kowaris</Body>") for name in ("joined", "both", "bare")]
    # also of what the same dataload brought
    same = (insert("same", raw), update("same", "<Body>dunnarts</Body>"), update("same", "<Body>kowaris</Body>"))
    results = harness.load(*later, *same, insert("gone", raw), *later[:1], REFRESH)

    assert {result["Status"] for result in results} == {"OK"}
    assert sorted(harness.find("kowaris")) == ["bare", "both", "joined", "same"]
    assert sorted(harness.find("kowaris inmeta:author=zelda")) == ["both", "joined", "same"]
    assert [harness.document(name)["title"] for name in ("joined", "both", "same")] == ["Own"] * 3
    assert (harness.find("quolls"), harness.find("wallabies"), harness.find("dunnarts")) == (["gone"], [], [])


def test_update_of_raw_data_replaces_the_text(harness: DataloadHarness) -> None:
    first, second = (f"<RawData{BASE64}>{encoded(f'<title>{text}</title>{text}')}</RawData>" for text in ("bandicoots", "potoroos"))
    harness.load(insert("renewed", first, "<Body>bettongs</Body><Meta>stays</Meta>"))
    harness.load(update("renewed", second), REFRESH)
    assert (harness.find("potoroos"), harness.find("bettongs"), harness.find("bandicoots")) == (["renewed"], [], [])
    document = harness.document("renewed")
    assert (document["title"], document["metadata"]) == ("potoroos", {"meta": ["stays"]})


def test_empty_elements_of_an_update_remove_what_the_document_had(harness: DataloadHarness) -> None:
    refs = f"<Refs{BASE64}>{encoded('<results><result><Ref>http://r.example.com/1</Ref></result></results>')}</Refs>"
    harness.load(insert("emptied", "<Title>Old</Title><Modified>2020-01-02 03:04:05</Modified><Meta>old</Meta>", refs))

    harness.load(update("emptied", "<Title/><Modified/><Meta/><Refs/>"), REFRESH)

    document = harness.document("emptied")
    assert (document["title"], document["last_modified"], document["metadata"]) == (None, None, {})
    assert harness.find("link:http://r.example.com/1") == []


def test_update_of_an_unknown_url_fails_and_creates_nothing(harness: DataloadHarness) -> None:
    assert harness.load(update("nowhere", "<Title>x</Title>")) == [{"Type": "U", "Status": "FAIL", "Info": "Not found"}]
    assert harness.document("nowhere") == {}


def test_update_of_a_document_of_another_profile_fails_and_changes_nothing(tmp_path: Path) -> None:
    with open_dataload(tmp_path, [PROFILE, ProfileSettings(name="other")]) as harness:
        harness.load(insert("owned", "<Title>First</Title><Body>tapirs</Body>"), profile="other")

        (result,) = harness.load(update("owned", "<Title>Second</Title>"))

        assert result == {"Type": "U", "Status": "FAIL", "Info": "data source other owns this document, so that it is not updated"}
        assert [harness.document("owned")[name] for name in ("title", "datasource")] == ["First", "other"]


def delete_matching(pattern: str) -> str:
    return f"<Type>DP</Type><Url>{pattern}</Url>"


def test_deletion_by_a_pattern_says_how_many_are_gone(harness: DataloadHarness) -> None:
    harness.load(*(insert(f"dir/{number}.html", "<Body>kiwis</Body>") for number in range(4)), insert("dirt", "<Body>kiwis</Body>"))

    results = harness.load(insert("dir/4.txt"), delete_matching(f"{HOST}/dir/*.html"), insert("dir/0.html", "<Body>kiwis</Body>"), REFRESH)

    assert results[1] == {"Type": "DP", "DP": "4", "Status": "OK"}
    assert sorted(harness.find("kiwis")) == ["dir/0.html", "dirt"]
    assert harness.load(delete_matching(f"{HOST}/dir/*"), delete_matching(f"{HOST}/dir/*")) == [
        {"Type": "DP", "DP": "2", "Status": "OK"},
        {"Type": "DP", "DP": "0", "Status": "OK"},
    ]


def test_deletion_by_a_pattern_leaves_other_profiles_alone(tmp_path: Path) -> None:
    other = ProfileSettings(name="other")
    with open_dataload(tmp_path, [PROFILE, other]) as harness:
        harness.load(insert("mine", "<Body>emus</Body>"))
        harness.load(insert("theirs", "<Body>emus</Body>"), REFRESH, profile="other")

        results = harness.load(delete_matching("*"), REFRESH)

        assert (results[0]["DP"], harness.find("emus")) == ("1", ["theirs"])


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


# --- additional fields ----------------------------------------------------------------------------------------------------------

FIELDS = (
    FieldSettings(name="Price", type="number"),
    FieldSettings(name="Quantity", type="integer"),
    FieldSettings(name="Released", type="date"),
    FieldSettings(name="Colors", type="set"),
    FieldSettings(name="Size-Code", type="enum", values=("Small", "Large")),
    FieldSettings(name="State", type="text"),
    FieldSettings(name="Secret", searchable=False),
    FieldSettings(name="Unsorted", type="number", sortable=False),
    FieldSettings(name="Internal", output=False),
    FieldSettings(name="Modified", type="integer"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataloadHarness]:
    with open_dataload(tmp_path_factory.mktemp("shop"), [ProfileSettings(name="default", fields=FIELDS)]) as opened:
        yield opened


def test_fields_are_metadata_under_their_own_names(shop: DataloadHarness) -> None:
    numbers = "<u:Price>19.90</u:Price><u:Quantity>0x1F</u:Quantity><u:Released>2020-01-02T03:04:05+02:00</u:Released>"
    texts = "<u:Colors>red, blue,red</u:Colors><u:Size-Code>LARGE</u:Size-Code><u:State>NY</u:State>"

    assert shop.load(insert("fields", numbers, texts), REFRESH)[0] == OK

    assert shop.document("fields")["metadata"] == {
        "Price": ["19.90"],
        "Quantity": ["31"],
        "Released": ["2020-01-02 01:04:05"],
        "Colors": ["red", "blue"],
        "Size-Code": ["Large"],
        "State": ["NY"],
    }
    assert shop.find("inmeta:price:10..20") == shop.find("inmeta:colors=blue") == shop.find("inmeta:state=ny") == ["fields"]


def test_field_of_a_wrong_type_costs_only_itself(shop: DataloadHarness) -> None:
    numbers = "<u:Price>dear</u:Price><u:Quantity>9999999999</u:Quantity><u:Released>someday</u:Released>"
    (result,) = shop.load(insert("wrong", numbers, "<u:Size-Code>Tiny</u:Size-Code><u:Other>x</u:Other><u:State>NJ</u:State>"))

    assert result["Status"] == "OK"
    assert all(name in result["Info"] for name in ("Price", "Quantity", "Released", "Size-Code", "Other"))
    assert shop.document("wrong")["metadata"] == {"State": ["NJ"]}


def test_results_are_sorted_by_the_value_of_a_field(shop: DataloadHarness) -> None:
    prices = {"p9": "9", "p10": "10.5", "p-1": "-1", "p1000": "1e3", "ptiny": "1e-7", "phuge": "1e100"}
    shop.load(*(insert(name, f"<Body>gadgets</Body><u:Price>{price}</u:Price>") for name, price in prices.items()), REFRESH)

    assert shop.find("gadgets", sort=Sort(name="Price", is_descending=False)) == ["p-1", "ptiny", "p9", "p10", "p1000", "phuge"]
    assert shop.find("gadgets", sort=Sort(name="price")) == ["phuge", "p1000", "p10", "p9", "ptiny", "p-1"]


def test_field_is_searched_sorted_and_shown_as_its_profile_says(shop: DataloadHarness) -> None:
    def fields(secret: str, number: int) -> str:
        return f"<Body>levers</Body><u:Secret>{secret}</u:Secret><u:Unsorted>{number}</u:Unsorted><u:Internal>inside</u:Internal>"

    shop.load(insert("l1", fields("xylophone", 2)), insert("l2", fields("anvil", 1)), REFRESH)

    assert shop.find("xylophone") == shop.find("inmeta:secret=xylophone") == []
    assert shop.find("levers", sort=Sort(name="Secret", is_descending=False)) == ["l2", "l1"]
    assert shop.find("levers", sort=Sort(name="Unsorted", is_descending=False)) == shop.find("levers")
    assert sorted(shop.find("inside")) == ["l1", "l2"]
    answer = ask_app(shop.search_port(), "GET", "/api/v1/search", query="q=xylophone+OR+levers&getfields=*")
    assert [set(result["metadata"]) for result in answer.json["results"]] == [{"Secret", "Unsorted"}] * 2


def test_update_of_a_field_replaces_its_values(shop: DataloadHarness) -> None:
    shop.load(insert("colored", "<u:Colors>red,blue</u:Colors><u:Price>1</u:Price>"))

    shop.load(update("colored", "<u:Colors>green</u:Colors><u:Price>wrong</u:Price>"))

    assert shop.document("colored")["metadata"] == {"Colors": ["green"], "Price": ["1"]}


def test_update_of_an_unknown_field_removes_no_metadata_of_its_name(shop: DataloadHarness) -> None:
    shop.load(insert("unknown", "<Keywords>real</Keywords>"))

    (result,) = shop.load(update("unknown", "<u:Keywords>other</u:Keywords>"))

    assert 'no additional field "Keywords"' in result["Info"]
    assert shop.document("unknown")["metadata"] == {"keywords": ["real"]}


def test_update_of_a_field_that_is_named_like_an_element_leaves_the_element(shop: DataloadHarness) -> None:
    shop.load(insert("same", "<Modified>2020-01-02 03:04:05</Modified><u:Modified>1</u:Modified>"))
    before = shop.document("same")

    shop.load(update("same", "<Modified>2021-01-02 03:04:05</Modified><u:Modified>wrong</u:Modified>"))
    after = shop.document("same")
    shop.load(update("same", "<Modified>wrong</Modified><u:Modified>2</u:Modified>"))

    assert (before["metadata"], after["metadata"]) == ({"Modified": ["1"]}, {"Modified": ["1"]})
    assert after["last_modified"] > before["last_modified"]
    assert shop.document("same")["metadata"] == {"Modified": ["2"]}
    assert shop.document("same")["last_modified"] == after["last_modified"]


# --- another database ---------------------------------------------------------------------------------------------------------


def test_every_type_of_item_works_on_postgresql(tmp_path: Path, postgres_database: NewDatabase) -> None:
    with open_dataload(tmp_path, [ProfileSettings(name="default", fields=FIELDS)], store_url=postgres_database()) as harness:
        pages = [insert(name, f"<Body>{name} lemurs</Body><u:Price>{price}</u:Price>") for name, price in (("x1", 9), ("x2", 10), ("y", 2))]
        statuses = [
            result["Status"] for result in harness.load(*pages, "<Type>I</Type>", insert("bad", f"<Title{BASE64}>*</Title>"), REFRESH)
        ]
        assert statuses == ["OK", "OK", "OK", "FAIL", "FAIL", "OK"]
        assert harness.find("lemurs", sort=Sort(name="Price", is_descending=False)) == ["y", "x1", "x2"]

        done = harness.load(update("y", "<Title>Sifakas</Title>"), delete("x1"), f"<Type>DP</Type><Url>{HOST}/x*</Url>", REFRESH)
        assert [result["Status"] for result in done] == ["OK"] * 4
        assert harness.document("x2") == harness.document("x1") == {}
        assert (harness.find("lemurs"), harness.find("sifakas")) == (["y"], ["y"])
        assert harness.document("y")["metadata"]["Price"] == ["2"]


# --- faults ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "status", "said"),
    [
        (insert("bad", f"<RawData{BASE64}>§§§</RawData>"), "FAIL", "base64"),
        (insert("bad", f"<Title{BASE64}>*</Title>"), "FAIL", "base64"),
        (insert("bad", f"<Refs{BASE64}>{encoded('<results>')}</Refs>"), "FAIL", "Refs"),
        ("<Type>I</Type><Body>x</Body>", "FAIL", "url"),
        ("<Type>D</Type>", "FAIL", "url"),
        ("<Type>DP</Type>", "FAIL", "url"),
        ("<Type>U</Type><Title>x</Title>", "FAIL", "url"),
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


def test_url_that_comes_twice_is_what_its_last_item_says(harness: DataloadHarness) -> None:
    twice = [insert("twice", "<Title>First</Title><Body>amberlamp</Body>"), insert("twice", "<Body>violetlamp</Body>")]

    assert [each["Status"] for each in harness.load(*twice, REFRESH)] == ["OK", "OK", "OK"]
    assert harness.document("twice")["title"] is None
    assert (harness.find("violetlamp"), harness.find("amberlamp")) == (["twice"], [])
    assert [each["Status"] for each in harness.load(insert("twice"), delete("twice"), REFRESH)] == ["OK", "OK", "OK"]
    assert harness.find("violetlamp") == []


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


def test_unknown_fields_and_parameters_are_ignored(harness: DataloadHarness) -> None:
    fields = {"profile": "default", "data": load_of(REFRESH), "limit": "1", "rid": "7", "Profile": "other", "": "x"}

    answer = harness.post_form(fields, query="limit=0&profile=other&data=")

    assert results_of(answer) == [{"Type": "UI", "Status": "OK"}]


def test_field_that_comes_twice_with_two_values_is_refused(harness: DataloadHarness) -> None:
    body = urlencode([("profile", "default"), ("profile", "other"), ("data", load_of(REFRESH))]).encode()
    answer = ask_app(harness.app, "POST", PATH, body=body, headers={"content-type": "application/x-www-form-urlencoded"})

    assert results_of(answer) == [{"Status": "NODATA", "Info": "field profile is given twice with different values"}]


def test_page_of_another_site_cannot_load(harness: DataloadHarness) -> None:
    assert harness.post(REFRESH, headers={"origin": "http://evil.example"}).status == 403
