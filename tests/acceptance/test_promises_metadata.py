"""Metadata through the wire: names, values, codings, order, and how searches find it."""

import base64

from tests.acceptance.promises import counts, get, levels, put
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_group, make_grouped_feed, make_record


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_names_keep_their_spelling_and_values_their_order(server: Appliance) -> None:
    url = "http://spelling.example.com/a"
    metas = [("Author", "Zoe"), ("topic", "b"), ("Author", "Ann"), ("Author", "Zoe"), ("Größe", "  12 cm "), ("a.b=c", "x=y")]
    put(server, "spelling", make_record(url, "x", metas))
    assert get(server, url)["metadata"] == {
        "Author": ["Zoe", "Ann", "Zoe"],
        "topic": ["b"],
        "Größe": ["  12 cm "],
        "a.b=c": ["x=y"],
    }


def test_base64_codes_name_and_value(server: Appliance) -> None:
    url = "http://codedmeta.example.com/a"
    meta = f'<meta encoding="base64binary" name="{coded("project_name")}" content="{coded("circleg_rocks ü")}"/>'
    put(server, "codedmeta", f'<record url="{url}" mimetype="text/html"><metadata>{meta}</metadata><content>x</content></record>')
    assert get(server, url)["metadata"] == {"project_name": ["circleg_rocks ü"]}


def test_empty_value_costs_its_meta_alone_and_is_reported(server: Appliance) -> None:
    url = "http://emptyvalue.example.com/a"
    receipt = server.feed(make_feed(make_record(url, "x", [("Tags", ""), ("stays", "1")])), "emptyvalue")
    assert counts(receipt) == ("completed", 1, 1, 0)
    assert levels(receipt) != []
    assert get(server, url)["metadata"] == {"stays": ["1"]}


def test_order_of_children_and_metas_without_metadata_are_free(server: Appliance) -> None:
    after, beside, twice = (f"http://freeorder.example.com/{name}" for name in ("after", "beside", "twice"))
    meta = '<meta name="k" content="1"/>'
    put(
        server,
        "freeorder",
        f'<record url="{after}" mimetype="text/html"><content>freeorderone</content><metadata>{meta}</metadata></record>',
        f'<record url="{beside}" mimetype="text/html">{meta}<content>freeordertwo</content>{meta}</record>',
        f'<record url="{twice}" mimetype="text/html"><metadata>{meta}</metadata><content>x</content><metadata>{meta}</metadata></record>',
    )
    assert [get(server, url)["metadata"] for url in (after, beside, twice)] == [{"k": ["1"]}, {"k": ["1", "1"]}, {"k": ["1", "1"]}]
    assert server.urls("freeorderone", match="all") == [after]
    assert server.urls("freeordertwo", match="all") == [beside]


def test_metadata_is_found_by_name_in_any_case_and_by_value(server: Appliance) -> None:
    law, press = "http://findmeta.example.com/law", "http://findmeta.example.com/press"
    put(
        server,
        "findmeta",
        make_record(law, "x", [("FindDept", "Legal Affairs")]),
        make_record(press, "x", [("finddept", "Press"), ("Loc", "Oslo")]),
    )
    assert sorted(server.urls("inmeta:FINDDEPT")) == sorted([law, press])
    assert server.urls("inmeta:finddept=press") == [press]
    assert server.urls("inmeta:FindDept=Legal%20Affairs") == [law]
    assert server.urls('inmeta:FindDept="Legal Affairs"') == [law]
    assert server.urls("inmeta:finddept=Legal site:findmeta.example.com") == []
    [result] = server.search("inmeta:finddept=Press", getfields="FINDDEPT.loc")["results"]
    assert result["metadata"] == {"finddept": ["Press"], "Loc": ["Oslo"]}
    [result] = server.search("inmeta:finddept=Press", getfields="loc")["results"]
    assert result["metadata"] == {"Loc": ["Oslo"]}
    [result] = server.search("inmeta:finddept=Press")["results"]
    assert result["metadata"] == {}


def test_meta_tags_of_a_page_are_found_and_robots_in_fed_metadata_is_not_obeyed(server: Appliance) -> None:
    tagged, robots, hidden = (f"http://metatags.example.com/{name}" for name in ("tagged", "robots", "hidden"))
    page = '<html><head><title>T</title><meta name="metatagdept" content="kitchen"></head><body>metatagsword</body></html>'
    barred = '<html><head><meta name="robots" content="noindex"></head><body>metatagsbarred</body></html>'
    put(
        server,
        "metatags",
        make_record(tagged, page),
        make_record(robots, "metatagsrobots", [("robots", "noindex")]),
        make_record(hidden, barred),
    )
    assert server.urls("inmeta:metatagdept=kitchen") == [tagged]
    assert server.urls("metatagsrobots", match="all") == [robots]
    assert server.urls("metatagsbarred", match="all") == []
    assert get(server, hidden)["searchable"] is False
    assert get(server, hidden)["reason"] is not None


def test_other_google_names_are_metadata_that_does_nothing(server: Appliance) -> None:
    url = "http://googlenames.example.com/a"
    names = ["google:action", "google:ispublic", "google:displayurl", "google:searchurl", "google:lastmodified"]
    put(server, "googlenames", make_record(url, "googlenamesword", [(name, "delete") for name in names]))
    document = get(server, url)
    assert document["display_url"] == url
    assert set(document["metadata"]) == set(names)
    assert server.urls("googlenamesword", match="all") == [url]


def test_attributes_of_a_record_are_shown_by_its_document(server: Appliance) -> None:
    url = "http://attributes.example.com/a"
    shown = "https://show.example.com/a?b=1"
    page = "<html><head><title> A  Title </title></head><body>attributesword</body></html>"
    put(
        server,
        "attributes",
        make_record(
            url, page, displayurl=shown, last_modified="Tue, 6 Nov 2007 12:45:26 GMT", lock="true", pagerank="99", crawl_once="true"
        ),
    )
    document = get(server, url)
    assert (document["display_url"], document["title"], document["mimetype"]) == (shown, "A Title", "text/html")
    assert document["last_modified"] in ("2007-11-06T12:45:26Z", "2007-11-06T12:45:26+00:00")
    assert (document["locked"], document["pagerank"], document["crawl_once"], document["crawl_immediately"]) == (True, 99, True, False)
    assert (document["datasource"], document["searchable"], document["reason"], document["acl"]) == ("attributes", True, None, None)
    [result] = server.search("attributesword", match="all")["results"]
    assert (result["url"], result["display_url"], result["title"]) == (url, shown, "A Title")
    assert result["date"].startswith("2007-11-06T12:45:26")
    put(server, "attributes", make_record(url, page, lock="false", crawl_once="false"))
    assert (get(server, url)["locked"], get(server, url)["crawl_once"]) == (False, False)


def test_group_ranks_hold_for_records_without_one_of_their_own(server: Appliance) -> None:
    url, own = "http://ranks.example.com/a", "http://ranks.example.com/b"
    assert (
        server.feed(make_grouped_feed(make_group(make_record(url, "x"), make_record(own, "x", pagerank="70"), pagerank="88")), "ranks")[
            "errors"
        ]
        == 0
    )
    assert [get(server, each)["pagerank"] for each in (url, own)] == [88, 70]


def test_date_forms_are_read_and_a_bad_one_costs_itself_alone(server: Appliance) -> None:
    forms = {
        "Tue, 06 Nov 2007 12:45:26 +0000": "2007-11-06T12:45:26",
        "Tue, 6 Nov 2007 12:45:26 -0800": "2007-11-06T20:45:26",
        "Tue, 06 Nov 2007 12:45:26 MST": "2007-11-06T19:45:26",
        "Fri, 06 Jul 2007 12:45:26 BST": "2007-07-06T11:45:26",
        "Tue, 06 Nov 2007 12:45:26 +0100": "2007-11-06T11:45:26",
        "Tuesday, 06-Nov-07 12:45:26 GMT": "2007-11-06T12:45:26",
        "Tue Nov  6 12:45:26 2007": "2007-11-06T12:45:26",
        "2012-03-12T21:04:17Z": "2012-03-12T21:04:17",
        "2012-03-12T21:04:17+00:00": "2012-03-12T21:04:17",
        "2012-03-12T21:04:17.250+02:00": "2012-03-12T19:04:17",
        "2012-03-12": "2012-03-12T00:00:00",
        " 2012-03-12T21:04Z ": "2012-03-12T21:04:00",
    }
    urls = {form: f"http://dates.example.com/{number}" for number, form in enumerate(forms)}
    put(server, "dates", *(make_record(url, "x", last_modified=form) for form, url in urls.items()))
    for form, url in urls.items():
        assert get(server, url)["last_modified"].startswith(forms[form]), form
        assert get(server, url)["last_modified"].endswith(("Z", "+00:00")), form
    receipt = server.feed(make_feed(make_record("http://dates.example.com/bad", "x", last_modified="yesterday")), "dates")
    assert counts(receipt) == ("completed", 1, 1, 0)
    assert levels(receipt) == ["warning"]
    assert get(server, "http://dates.example.com/bad")["last_modified"] is None
