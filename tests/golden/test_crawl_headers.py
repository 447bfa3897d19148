"""The headers of adaptors and web servers, and what they mean."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.access import Access, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.wire.gsaheaders.parse import parse_headers
from feedmill.wire.gsaheaders.schema import CrawlHeaders, RobotsDirectives

PAGE = "http://adaptor.example:5678/doc/a"
# as Google's library writes it (json-simple escapes the slash)
INHERITING = (
    "acl=%7B%22inherit_from%22%3A%22http%3A%5C%2F%5C%2Flocalhost%5C%2Fparent%22%2C%22inheritance_type%22%3A%22PARENT_OVERRIDES%22%7D"
)
METADATA, CONTROLS, ANCHOR = "x-gsa-external-metadata", "x-gsa-doc-controls", "x-gsa-external-anchor"


def read(*headers: tuple[str, str]) -> CrawlHeaders:
    return parse_headers(headers, PAGE, "gsa-crawler")


def acl(text: str) -> str:
    return f"acl={quote(text, safe='')}"


def test_metadata_is_split_then_decoded() -> None:
    value = "author=Jane%20Doe,google%3Atopic=a%2Cb, tag=1+1%3D2,tag=%C3%BC"
    assert read((METADATA, value)).metadata == (("author", "Jane Doe"), ("google:topic", "a,b"), ("tag", "1+1=2"), ("tag", "ü"))


def test_metadata_of_several_lines_is_joined() -> None:
    assert read((METADATA, "a=1"), (METADATA, "b=2")).metadata == (("a", "1"), ("b", "2"))


@pytest.mark.parametrize(
    ("headers", "metadata"), [((), None), (((METADATA, ""),), ()), (((METADATA, "a="),), ()), (((METADATA, "=b"),), ())]
)
def test_metadata_that_is_empty_is_not_absent(headers: tuple[tuple[str, str], ...], metadata: tuple[()] | None) -> None:
    assert read(*headers).metadata == metadata


def test_older_acl_in_the_metadata() -> None:
    found = read((METADATA, "a=1,google%3Aaclusers=ann"), (METADATA, "google%3Aaclinheritancetype=parent-overrides,google%3Aaclgroups=g"))
    assert found.metadata == (("a", "1"),)
    assert found.legacy_acl is not None
    assert [entry.principal.name for entry in found.legacy_acl.entries] == ["ann", "g"]
    assert found.legacy_acl.inheritance_type is InheritanceType.PARENT_OVERRIDES
    assert read((METADATA, "google%3Aaclusres=ann")).legacy_acl == Acl()


def test_controls_come_on_several_lines_or_joined() -> None:
    lines = [
        (CONTROLS, text) for text in (INHERITING, "display_url=http%3A%2F%2Fshown%2F", "crawl_once=true", "lock=false", "scoring=content")
    ]
    for headers in (lines, [(CONTROLS, ", ".join(text for _, text in lines))]):
        found = read(*headers)
        assert found.acl == Acl(inherit_from="http://localhost/parent", inheritance_type=InheritanceType.PARENT_OVERRIDES)
        assert (found.display_url, found.crawl_once, found.lock, found.scoring) == ("http://shown/", True, False, "content")
        assert found.states_acl


def test_entries_of_an_acl() -> None:
    found = read(
        (
            CONTROLS,
            acl(
                '{"entries":[{"access":"permit","name":"g","namespace":"ns","scope":"group","case_sensitivity_type":'
                '"everything_case_insensitive"},{"access":"deny","name":"CORP\\\\ann","scope":"user"}],"inheritance_type":"AND_BOTH_PERMIT"}'
            ),
        )
    )
    assert found.acl == Acl(
        entries=(
            Entry(access=Access.PERMIT, principal=Principal(scope=Scope.GROUP, name="g", namespace="ns", case_sensitive=False)),
            Entry(access=Access.DENY, principal=Principal(scope=Scope.USER, name="CORP\\ann")),
        ),
        inheritance_type=InheritanceType.AND_BOTH_PERMIT,
    )


def test_empty_acl_removes_and_absent_acl_keeps() -> None:
    assert (read((CONTROLS, "acl=")).states_acl, read((CONTROLS, "acl=")).acl) == (True, None)
    assert (read((CONTROLS, "lock=true")).states_acl, read().states_acl) == (False, False)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        "1",
        '{"entries":1}',
        '{"entries":[1]}',
        '{"entries":[{"access":"permit","scope":"user"}]}',
        '{"entries":[{"access":"permt","scope":"user","name":"a"}]}',
        '{"entries":[{"access":"permit","scope":"usr","name":"a"}]}',
        '{"entries":[{"access":"permit","scope":"user","name":5}]}',
        '{"entries":[{"access":"permit","scope":"user","name":"a","case_sensitivity_type":"x"}]}',
        '{"inheritance_type":"OTHER"}',
        '{"inherit_from":["http://a/"]}',
        '{"entries":' + "[" * 20_000,
        '{"entries":[{"access":"permit","scope":"user","name":"\\ud800"}]}',
    ],
)
def test_unreadable_acl_closes_the_document(text: str) -> None:
    for headers in ([(CONTROLS, acl(text))], [(CONTROLS, acl(text)), (CONTROLS, "acl=")]):
        found = read(*headers)
        assert (found.states_acl, found.acl) == (True, Acl())
        assert found.faults


def test_anchors() -> None:
    assert read((ANCHOR, "a%20text=http%3A%2F%2Fx%2F%3Fa%3Db,http%3A%2F%2Fy%2F"), (ANCHOR, "")).anchors == (
        ("a text", "http://x/?a=b"),
        ("", "http://y/"),
    )


@pytest.mark.parametrize(
    ("values", "is_secure"), [((), None), (("secure",), True), (("Public",), False), (("public", "secure"), True), (("?",), True)]
)
def test_security(values: tuple[str, ...], is_secure: bool | None) -> None:
    assert read(*(("x-gsa-serve-security", value) for value in values)).is_secure is is_secure


@pytest.mark.parametrize(
    ("values", "directives"),
    [
        ((), RobotsDirectives()),
        (("noindex", "nofollow", "noarchive"), RobotsDirectives(noindex=True, nofollow=True, noarchive=True)),
        (("NoIndex, nosnippet",), RobotsDirectives(noindex=True, nosnippet=True)),
        (("none",), RobotsDirectives(noindex=True, nofollow=True)),
        (("googlebot: noindex, nofollow",), RobotsDirectives()),
        (("googlebot: noindex, gsa-crawler: nofollow",), RobotsDirectives(nofollow=True)),
        (("unavailable_after: 25 Jun 2010 15:00:00 PST, noarchive",), RobotsDirectives(noarchive=True)),
    ],
)
def test_robots_tag(values: tuple[str, ...], directives: RobotsDirectives) -> None:
    assert read(*(("x-robots-tag", value) for value in values)).robots == directives


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ('<http://example.com/a>; rel="canonical"', "http://example.com/a"),
        ("</b>; rel=canonical", "http://adaptor.example:5678/b"),
        ('<http://x/1>; rel="next", <http://x/2>; title="a, b"; rel="canonical"', "http://x/2"),
        ('<http://x/1>; rel="next"', ""),
        ("canonical", ""),
        ("<http://[>; rel=canonical", ""),
    ],
)
def test_canonical_link(value: str, url: str) -> None:
    assert read(("link", value)).canonical == url


@given(
    st.lists(st.tuples(st.sampled_from([METADATA, CONTROLS, ANCHOR, "link", "x-robots-tag", "x-gsa-serve-security"]), st.text(max_size=80)))
)
def test_any_text_is_read(headers: list[tuple[str, str]]) -> None:
    assert isinstance(parse_headers(headers, PAGE, "gsa-crawler"), CrawlHeaders)
