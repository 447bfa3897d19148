"""ACLs as they come in feeds, what changes them and what does not, and that no user sees what is guarded."""

import base64

import pytest

from tests.acceptance.promises import counts, get, is_public, levels, put, read_acl, show_page
from tests.appliance import Appliance
from tests.builders.feedxml import make_acl_element, make_feed, make_record

ANN, BOB = ("permit", "user", "ann"), ("permit", "user", "bob")
LEGACY = [("google:aclusers", "ann")]


def described(url: str, *metas: tuple[str, str], overwrite: str = "", content: str = "") -> str:
    """A record whose metadata says something on overwriting ACLs."""
    attribute = f' overwrite-acls="{overwrite}"' if overwrite else ""
    inside = "".join(f'<meta name="{name}" content="{value}"/>' for name, value in metas)
    return f'<record url="{url}" mimetype="text/plain"><metadata{attribute}>{inside}</metadata>{content}</record>'


def test_acl_of_a_record_is_shown_whole(server: Appliance) -> None:
    url = "http://aclwhole.example.com/a"
    acl = (
        '<acl inheritance-type="and-both-permit" inherit-from="http://aclwhole.example.com/folder">'
        '<principal scope="user" access="permit">\n  ann \n</principal>'
        '<principal scope="GROUP" access="deny" namespace="Sales" case-sensitivity-type="everything-case-insensitive">'
        "EX\\interns</principal>"
        '<principal scope="user" access="permit">  </principal></acl>'
    )
    put(server, "aclwhole", make_record(url, "x", acl=acl))
    shown = get(server, url)["acl"]
    assert (shown["inheritance_type"], shown["inherit_from"]) == ("and-both-permit", "http://aclwhole.example.com/folder")
    principals = sorted(shown["principals"], key=lambda each: str(each["name"]))
    assert principals == [
        {"scope": "group", "access": "deny", "namespace": "Sales", "name": "EX\\interns", "case_sensitive": False},
        {"scope": "user", "access": "permit", "namespace": "Default", "name": "ann", "case_sensitive": True},
    ]
    put(server, "aclwhole", make_record(url, "x", acl=make_acl_element("bob")))
    assert get(server, url)["acl"]["inheritance_type"] == "leaf-node"
    assert get(server, url)["acl"]["inherit_from"] is None


@pytest.mark.parametrize(
    ("name", "attributes", "acl"),
    [
        ("permits", {}, make_acl_element("ann")),
        ("empty", {}, "<acl/>"),
        ("blank", {}, make_acl_element(" ")),
        ("inherits", {}, make_acl_element(inherit_from="http://hidden.example.com/nowhere")),
        ("none", {"authmethod": "none"}, make_acl_element("ann")),
        ("ntlm", {"authmethod": "ntlm"}, ""),
        ("HTTPBASIC", {"authmethod": "HTTPBASIC"}, ""),
        ("httpsso", {"authmethod": "httpsso"}, ""),
        ("negotiate", {"authmethod": "negotiate"}, ""),
    ],
)
def test_guarded_document_is_hidden_from_users_who_are_not_signed_in(
    server: Appliance, name: str, attributes: dict[str, str], acl: str
) -> None:
    url, word = f"http://hidden.example.com/{name}", f"hiddenword{name.lower()}"
    page = f"<title>hiddentitle {word}</title><p>{word}</p>"
    put(server, "hidden", make_record(url, page, [("hiddenmeta", word)], acl=acl, **attributes))
    assert get(server, url)["searchable"] is True
    assert not is_public(server, url, word)
    for query in (
        f"inmeta:hiddenmeta={word}",
        "inmeta:hiddenmeta",
        "site:hidden.example.com",
        "inurl:hidden",
        "hiddentitle",
        f"-{word} site:hidden.example.com",
    ):
        answer = server.search(query, getfields="*", num=100)
        assert (answer["total"], answer["results"]) == (0, []), query
        assert word not in show_page(server, query.replace(word, "x")), query


def test_guarded_documents_change_no_totals_or_facets_of_public_ones(server: Appliance) -> None:
    shown, hidden = ([f"http://totals.example.com/{kind}{number}" for number in range(12)] for kind in ("p", "s"))
    records = [make_record(url, "totalsword", [("kind", "public")]) for url in shown]
    put(server, "totals", *records, *(make_record(url, "totalsword", [("kind", "secret")], acl=make_acl_element("ann")) for url in hidden))
    answer = server.search("totalsword", facet="kind", num=5)
    assert (answer["total"], answer["exact"], len(answer["results"])) == (12, True, 5)
    assert "secret" not in str(answer)
    assert sorted(server.urls("totalsword", num=100)) == sorted(shown)
    assert server.urls("totalsword", start=12) == []


def test_authmethod_left_out_keeps_the_last_value(server: Appliance) -> None:
    url = "http://authkept.example.com/a"
    put(server, "authkept", make_record(url, "authkeptword", authmethod="ntlm"))
    put(server, "authkept", make_record(url, "authkeptword"))
    assert not is_public(server, url, "authkeptword")
    put(server, "authkept", make_record(url, "authkeptword"), feedtype="full")
    assert not is_public(server, url, "authkeptword")
    put(server, "authkept", make_record(url, "authkeptword", authmethod="none"))
    assert is_public(server, url, "authkeptword")


@pytest.mark.parametrize("feedtype", ["full", "incremental"])
def test_content_alone_never_touches_an_acl(server: Appliance, feedtype: str) -> None:
    element, legacy = (f"http://untouched.example.com/{feedtype}/{name}" for name in ("element", "legacy"))
    source = f"untouched-{feedtype}"
    put(server, source, make_record(element, "x", acl=make_acl_element("ann")), make_record(legacy, "x", LEGACY))
    put(server, source, make_record(element, "untouchedone"), make_record(legacy, "untouchedtwo"), feedtype=feedtype)
    assert read_acl(server, element) == read_acl(server, legacy) == {ANN}
    assert not is_public(server, element, "untouchedone")
    assert not is_public(server, legacy, "untouchedtwo")


def test_acl_metadata_is_an_acl_and_never_metadata(server: Appliance) -> None:
    url = "http://legacy.example.com/a"
    metas = [
        ("google:aclusers", "ann=writer"),
        ("google:aclusers", "peter=peeker"),
        ("google:aclgroups", "staff=owner"),
        ("google:acldenyusers", "dan"),
        ("google:acldenygroups", "interns=reader"),
        ("google:aclinheritfrom", "http://legacy.example.com/folder"),
        ("google:aclinheritancetype", "parent-overrides"),
        ("colour", "blue"),
    ]
    put(server, "legacy", make_record(url, "legacyword", metas))
    document = get(server, url)
    assert document["metadata"] == {"colour": ["blue"]}
    assert read_acl(server, url) == {ANN, ("permit", "group", "staff"), ("deny", "user", "dan"), ("deny", "group", "interns")}
    assert document["acl"]["inheritance_type"] == "parent-overrides"
    assert document["acl"]["inherit_from"] == "http://legacy.example.com/folder"
    assert not is_public(server, url, "legacyword")


def test_acl_metadata_replaces_any_acl_and_an_element_beside_it_wins(server: Appliance) -> None:
    replaced, beside = "http://bothacl.example.com/a", "http://bothacl.example.com/b"
    put(server, "bothacl", make_record(replaced, "x", acl=make_acl_element("bob")))
    put(server, "bothacl", make_record(replaced, None, LEGACY))
    assert read_acl(server, replaced) == {ANN}
    receipt = put(server, "bothacl", make_record(beside, "x", [*LEGACY, ("k", "v")], acl=make_acl_element("bob")))
    assert "warning" in levels(receipt)
    assert read_acl(server, beside) == {BOB}
    assert get(server, beside)["metadata"] == {"k": ["v"]}
    put(
        server,
        "bothacl",
        make_record(beside, None, [("k", "w")]).replace("<metadata>", make_acl_element("ann") + '<metadata overwrite-acls="true">'),
    )
    assert read_acl(server, beside) == {ANN}


@pytest.mark.parametrize(
    ("overwrite", "keeps_legacy", "keeps_element"),
    [("", False, True), ("true", False, False), ("false", True, True), ("TRUE", False, False)],
)
def test_metadata_without_acls_removes_what_overwrite_acls_says(
    server: Appliance, overwrite: str, keeps_legacy: bool, keeps_element: bool
) -> None:
    legacy, element = (f"http://overwrite.example.com/{overwrite}/{name}" for name in ("legacy", "element"))
    put(server, "overwrite", make_record(legacy, "overwriteword", LEGACY), make_record(element, "x", acl=make_acl_element("ann")))
    receipt = put(
        server, "overwrite", described(legacy, ("k", "v"), overwrite=overwrite), described(element, ("k", "v"), overwrite=overwrite)
    )
    assert [read_acl(server, url) is not None for url in (legacy, element)] == [keeps_legacy, keeps_element]
    opened = [not keeps_legacy, not keeps_element].count(True)
    assert levels(receipt).count("warning") == opened, receipt["log"]
    assert (legacy in server.urls("overwriteword", match="all", num=100)) is not keeps_legacy


def test_metadata_that_is_empty_or_dropped_removes_no_acl(server: Appliance) -> None:
    urls = [f"http://emptymeta.example.com/{name}" for name in "abc"]
    put(server, "emptymeta", *(make_record(url, "x", [*LEGACY, ("k", "v")]) for url in urls))
    put(
        server,
        "emptymeta",
        f'<record url="{urls[0]}" mimetype="text/html"><metadata/></record>',
        described(urls[1], ("k", ""), overwrite="true"),
        f'<record url="{urls[2]}" mimetype="text/html"><metadata overwrite-acls="true"></metadata><content>new</content></record>',
    )
    for url in urls:
        assert read_acl(server, url) == {ANN}, url
        assert get(server, url)["metadata"] == {"k": ["v"]}, url


def test_acl_that_cannot_be_read_whole_costs_its_record(server: Appliance) -> None:
    url = "http://badacl.example.com/a"
    put(server, "badacl", make_record(url, "badaclword", acl=make_acl_element("ann")))
    bad = '<acl><principal scope="robot" access="permit">ann</principal></acl>'
    assert counts(server.feed(make_feed(make_record(url, "badaclnew", acl=bad)), "badacl")) == ("failed in error", 1, 0, 1)
    assert read_acl(server, url) == {ANN}
    assert get(server, url)["searchable"] is True


def test_base64_metadata_may_hold_acls(server: Appliance) -> None:
    url = "http://codedacl.example.com/a"
    name, value = (base64.b64encode(text).decode() for text in (b"google:aclusers", b"ann"))
    meta = f'<metadata><meta encoding="base64binary" name="{name}" content="{value}"/></metadata>'
    put(server, "codedacl", f'<record url="{url}" mimetype="text/plain">{meta}<content>codedaclword</content></record>')
    assert read_acl(server, url) == {ANN}
    assert not is_public(server, url, "codedaclword")


def test_page_whose_own_tags_name_its_readers_is_not_for_everybody(server: Appliance) -> None:
    url = "http://selfguarded.example.com/a"
    page = '<html><head><meta name="google:aclusers" content="ann"></head><body>selfguardedword</body></html>'
    put(server, "selfguarded", make_record(url, page))
    assert get(server, url)["metadata"] == {}
    assert not is_public(server, url, "selfguardedword")
    put(server, "selfguarded", make_record(url, "<p>selfguardedword</p>"))
    assert is_public(server, url, "selfguardedword")


def test_document_shown_before_is_hidden_at_once_by_an_acl_that_comes_alone(server: Appliance) -> None:
    url = "http://latelock.example.com/a"
    put(server, "latelock", make_record(url, "latelockword"))
    assert is_public(server, url, "latelockword")
    put(server, "latelock", make_acl_element("ann", url=url))
    assert not is_public(server, url, "latelockword")
    put(server, "latelock", described(url, ("k", "v"), overwrite="true"))
    assert is_public(server, url, "latelockword")


def test_named_resources_that_differ_by_query_have_acls_of_their_own(server: Appliance) -> None:
    url = "http://resource.example.com/doc"
    put(
        server,
        "resource",
        make_record(url, "resourceword"),
        make_acl_element("ann", url=f"{url}?generated"),
        make_acl_element("bob", url=f"{url}?shareAcl"),
    )
    assert read_acl(server, url) is None
    assert is_public(server, url, "resourceword")
    put(server, "resource", make_record(f"{url}?generated", "x"), make_record(f"{url}?shareAcl", "y"))
    assert read_acl(server, f"{url}?generated") == {ANN}
    assert read_acl(server, f"{url}?shareAcl") == {BOB}
