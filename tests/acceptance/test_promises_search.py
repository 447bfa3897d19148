"""The search port: words, restrictions, paging, the page for people, and what others do not see."""

import json

import pytest

from tests.acceptance.promises import get, put, show_page
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_for


def test_answer_has_the_promised_members(server: Appliance) -> None:
    url = "http://members.example.com/a"
    page = "<html lang='en'><head><title>Members of an answer</title></head><body><p>The word memberword stands here.</p></body></html>"
    put(server, "members", make_record(url, page, last_modified="2020-02-01"))
    answer = server.search("memberword")
    assert set(answer) >= {"query", "total", "exact", "results", "facets", "spelling", "warnings"}
    assert (answer["query"], answer["total"], answer["exact"], answer["facets"]) == ("memberword", 1, True, [])
    [result] = answer["results"]
    assert set(result) >= {"url", "display_url", "title", "snippet", "score", "date", "mimetype", "language", "metadata"}
    assert (result["url"], result["display_url"], result["title"], result["mimetype"]) == (url, url, "Members of an answer", "text/html")
    assert "memberword" in result["snippet"]
    assert result["score"] is None


def test_words_phrases_or_and_exclusions(server: Appliance) -> None:
    base = "http://words.example.com/"
    texts = {"a": "wordsred wordsgreen wordsblue", "b": "wordsgreen wordsred", "c": "wordsblue wordsgray", "d": "wordsgreen"}
    put(server, "words", *(make_record(f"{base}{name}", text) for name, text in texts.items()))

    def found(query: str, **parameters: str) -> str:
        return "".join(sorted(url.removeprefix(base) for url in server.urls(query, num=50, **parameters)))

    assert found("wordsred wordsgreen", match="all") == "ab"
    assert found("WORDSRED", match="all") == "ab"
    assert found('"wordsred wordsgreen"', match="all") == "a"
    assert found("wordsred-wordsgreen", match="all") == "a"
    assert found("wordsred OR wordsgray", match="all") == "abc"
    assert found("wordsred OR wordsgray wordsblue", match="all") == "ac"
    assert found("wordsgreen -wordsred", match="all") == "d"
    assert found('wordsgreen -"wordsred wordsgreen"', match="all") == "bd"
    assert found("wordsred wordsgray", match="all") == ""
    assert found("wordsred wordsgray", match="any") == "abc"
    assert found("wordsred wordsgray", match="auto") == found("wordsred wordsgray") == "abc"
    assert server.urls("wordsblue wordsgray")[0] == f"{base}c"
    assert found("wordsred wordsgray -wordsblue", match="any") == "b"
    assert found("wordsred site:nowhere.example.com") == ""


def test_url_restrictions(server: Appliance) -> None:
    urls = [
        "http://sites.example.com/dir/one",
        "http://www.sites.example.com/dir/two",
        "http://sites.example.com/directory",
        "http://sites.example.com:8080/other",
        "http://othersites.example.com/dir/x",
    ]
    put(server, "sites", *(make_record(url, "sitesword") for url in urls))

    def found(query: str) -> list[int]:
        return sorted(urls.index(url) for url in server.urls(query, num=50))

    assert found("sitesword site:sites.example.com") == [0, 1, 2, 3]
    assert found("site:sites.example.com") == [0, 1, 2, 3]
    assert found("sitesword -site:sites.example.com") == [4]
    assert found("site:sites.example.com/dir/") == [0, 1]
    assert found("sitesword inurl:directory") == [2]
    assert found("sitesword -inurl:dir") == [2, 3]
    assert found("info:http://sites.example.com/dir/one") == [0]
    assert found("info:http://sites.example.com/dir") == []
    assert server.search("")["total"] == 0


ODD_QUERIES = ['"', "OR", "-", "((", "a OR", "*", "\x00", "💥 OR -", 'x" "', "[1 TO 2]", "^~", "AND NOT", "x:y:z", "\\", "1..2 $3..$4"]
ODD_RESTRICTIONS = ["site:", "-site:", "inmeta:", "inmeta:=x", "inmeta:a..b", "info:", "body:x", "daterange:.."]
LONG_QUERIES = ["a" * 9000, "-" * 300, " ".join("abcdefghij") * 60]


@pytest.mark.parametrize("query", [*ODD_QUERIES, *ODD_RESTRICTIONS, *LONG_QUERIES])
def test_nothing_that_is_typed_is_an_error(server: Appliance, query: str) -> None:
    assert isinstance(server.search(query)["results"], list)
    show_page(server, query)


@pytest.mark.parametrize(
    "parameters", ["num=x", "num=-1", "start=-5", "start=99999999999", "num=5000", "match=never", "sort=%00", "getfields=%FF"]
)
def test_no_parameter_of_the_page_is_an_error_and_the_api_names_it(server: Appliance, parameters: str) -> None:
    for path in (f"/?q=anything&{parameters}", f"/search?q=anything&{parameters}"):
        assert server.request("GET", server.search_port, path)[0] == 200
    status, _, body = server.request("GET", server.search_port, f"/api/v1/search?q=anything&{parameters}")
    assert status == 400
    assert f"parameter {parameters.partition('=')[0]} is" in json.loads(body)["detail"].replace("'", "")


def test_pages_follow_one_another_and_totals_are_exact(server: Appliance) -> None:
    urls = [f"http://paging.example.com/{number:04}" for number in range(1050)]
    put(server, "paging", *(make_record(url, "pagingword") for url in urls), feedtype="full")
    whole = server.search("pagingword", num=1000)
    assert len(whole["results"]) == 1000
    assert whole["total"] == 1050 or whole["exact"] is False
    listed = [url for start in range(0, 100, 10) for url in server.urls("pagingword", start=start)]
    assert listed == [result["url"] for result in whole["results"][:100]]
    assert sorted(server.urls("pagingword", num=1000) + server.urls("pagingword", start=1000, num=100)) == urls
    assert server.search("pagingword inurl:0007")["total"] == 1
    assert server.search("site:paging.example.com inurl:0007", match="all")["exact"] is True
    page = show_page(server, "pagingword", start=10)
    assert listed[10] in page
    assert listed[9] not in page
    assert "start=20" in page


def test_page_shows_results_and_escapes_what_documents_say(server: Appliance) -> None:
    url, bad = "http://escape.example.com/a?x=1&y=<b>", "http://escape.example.com/bad"
    page = "<title>&lt;script&gt;alert(1)&lt;/script&gt; escapetitle</title><p>escapeword &lt;img src=x onerror=alert(2)&gt; R&amp;D</p>"
    put(server, "escape", make_record(url, page, displayurl="http://shown.example.com/here", last_modified="2019-05-04"))
    put(server, "escape", make_record(bad, "<p>escapebad</p>", displayurl="javascript:alert(3)"))
    shown = show_page(server, "escapeword")
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert "escapetitle" in shown
    assert "http://shown.example.com/here" in shown
    assert "2019" in shown
    assert 'href="javascript:' not in show_page(server, "escapebad")
    assert "<script>q</script>" not in show_page(server, "<script>q</script>")


def test_search_port_shows_less_of_a_document_than_the_feed_port(server: Appliance) -> None:
    url = "http://tellsless.example.com/a"
    put(server, "tellsless", make_record(url, "tellslessword", [("k", "v")]))
    status, _, body = server.request("GET", server.search_port, f"/api/v1/documents?url={url}")
    shown = json.loads(body)
    assert status == 200
    assert not set(shown) & {"datasource", "acl", "owner"}
    assert "tellsless" not in json.dumps({key: value for key, value in shown.items() if "url" not in key})
    assert (shown["url"], shown["metadata"]) == (url, {"k": ["v"]})
    assert server.request("GET", server.search_port, "/api/v1/documents?url=http://tellsless.example.com/no")[0] == 404
    assert server.request("GET", server.search_port, "/api/v1/documents")[0] == 400


def test_explain_is_ignored_for_strangers(server: Appliance) -> None:
    put(server, "explained", make_record("http://explained.example.com/a", "explainedword"))
    plain, explained = server.search("explainedword"), server.search("explainedword", explain=1)
    assert explained == plain


def test_words_of_links_find_what_they_lead_to_unless_they_are_secret(server: Appliance) -> None:
    host = "http://linked.example.com"
    put(server, "linked", make_record(f"{host}/a", "plainbody"), make_record(f"{host}/b", "plainbody"))
    put(server, "linked", make_record(f"{host}/hub", f'<a href="{host}/a">anchorword</a>'))
    put(server, "linked", make_record(f"{host}/secret", f'<a href="{host}/b">secretanchor</a>', authmethod="httpbasic"))
    wait_for({f"{host}/a", f"{host}/hub"}, lambda: set(server.urls("anchorword")))
    assert server.urls("plainbody site:linked.example.com")[0] == f"{host}/a"
    assert server.urls("secretanchor") == []
    put(server, "linked", make_record(f"{host}/hub", f'<a href="{host}/a">anchorword</a>', authmethod="httpbasic"))
    assert server.urls("anchorword") == []


def test_words_of_other_scripts_are_found(server: Appliance) -> None:
    texts = {
        "東京都庁": "東京都庁の展望室",
        "หนังสือ": "ร้านหนังสือ",
        "москва": "Москва столица",
        "café": "un cafe noir",
        "القاهرة": "مدينة القاهرة",
        "हिन्दी": "यह हिन्दी है",
    }
    urls = {word: f"http://scripts.example.com/{number}" for number, word in enumerate(texts)}
    put(server, "scripts", *(make_record(urls[word], f"<p>{text}</p>") for word, text in texts.items()))
    for word, url in urls.items():
        assert server.urls(f"{word} site:scripts.example.com", match="all") == [url], word


def test_newest_version_alone_is_found(server: Appliance) -> None:
    url = "http://newest.example.com/a"
    for number in range(5):
        put(server, "newest", make_record(url, f"newestword version{number}"))
        assert get(server, url)["searchable"] is True
        assert server.urls(f"newestword version{number}", match="all") == [url]
        assert server.urls(f"newestword version{number - 1}", match="all") == []
    assert server.search("newestword")["total"] == 1


def test_delete_and_add_of_one_feed_are_seen_together(server: Appliance) -> None:
    first, second = "http://together.example.com/a", "http://together.example.com/b"
    put(server, "together", make_record(first, "togetherword"))
    receipt = server.feed(make_feed(make_record(first, action="delete"), make_record(second, "togetherword")), "together")
    assert receipt["state"] == "completed"
    assert server.urls("togetherword", match="all") == [second]


def test_title_and_url_words_and_metadata_values_are_searched(server: Appliance) -> None:
    url = "http://fields.example.com/path/fieldsurlword.html"
    put(server, "fields", make_record(url, "<title>fieldstitleword</title><p>fieldsbodyword</p>", [("any", "fieldsmetaword")]))
    for word in ("fieldsurlword", "fieldstitleword", "fieldsbodyword", "fieldsmetaword"):
        assert server.urls(word, match="all") == [url], word
