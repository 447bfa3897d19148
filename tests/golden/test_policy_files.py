"""Policy ACLs as lines of text, as the old appliance's tools wrote them, and as they are given out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.model.access import Access, Entry, Principal, Scope
from feedmill.model.errors import BadRequest
from feedmill.model.policyacl import PolicyAcl
from feedmill.wire.applianceconfig.policies import read_policies, render_policies
from tests.thorough import count_examples


def read_lines(text: str) -> list[tuple[str, ...]]:
    """Returns each line as its pattern and its entries in words."""
    return [(policy.pattern, *(_report(entry) for entry in policy.entries)) for policy in read_policies(text)]


def _report(entry: Entry) -> str:
    who = entry.principal
    marks = [] if who.namespace == "Default" else [f"@{who.namespace}"]
    marks += [] if who.case_sensitive else ["~"]
    marks += ["literal"] if who.unqualified else []
    return " ".join([entry.access.value, who.scope.value, who.name, *marks])


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        ("user:ann", ["permit user ann"]),
        ("user: ann group: eng", ["permit user ann", "permit group eng"]),
        ("group:engineer user:polly", ["permit group engineer", "permit user polly"]),
        ("eng", ["permit group eng"]),
        ("eng admin", ["permit group eng admin"]),
        ("group:eng admin right=read user:charlie sheen right=read", ["permit group eng admin", "permit user charlie sheen"]),
        ("user:charlie user:david right=none group:eng", ["permit user charlie", "deny user david", "permit group eng"]),
        ("user:x right=write", ["deny user x"]),
        ("user:CORP\\ann group:eng@corp.example.com", ["permit user CORP\\ann", "permit group eng@corp.example.com"]),
        ("user:cn=ann,ou=x", ["permit user cn=ann,ou=x"]),
        ("group:a:b", ["permit group a:b"]),
        ("group:eng right=none sales", ["deny group eng", "permit group sales"]),
        ("group:eng namespace=hr case=insensitive right=none", ["deny group eng @hr ~"]),
        ('user:"a user:b" namespace="h r"', ["permit user a user:b @h r"]),
        ("group:R/D unqualified=yes", ["permit group R/D literal"]),
    ],
)
def test_line_is_read_as_it_was_meant(line: str, entries: list[str]) -> None:
    assert read_lines(f"example.com/a/ {line}") == [("example.com/a/", *entries)]
    assert read_lines(f"  example.com/a/\t{line}  ") == [("example.com/a/", *entries)]


def test_pattern_that_begins_like_xml_is_no_feed() -> None:
    assert read_lines("</>secret/ user:ann\n") == [("</>secret/", "permit user ann")]


def test_comments_and_empty_lines_count_for_nothing() -> None:
    text = '\ufeff# from the appliance\r\n\r\n^http://a.example.com/b?c=d$ user:ann\r\n"regexp:a b" group:x\n'
    assert read_lines(text) == [("^http://a.example.com/b?c=d$", "permit user ann"), ("regexp:a b", "permit group x")]
    assert read_policies("") == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("example.com/", "line 1: no user and no group"),
        ("a/ user:x\n\nb/ user:", "line 3: a user or group without a name"),
        ("a/ user: group:x", "line 1: a user or group without a name"),
        ("a/ user: right=none", "line 1: a user or group without a name"),
        ('a/ user:"  "', "line 1: a user or group without a name"),
        ('a/ user:"\\x"', "line 1: "),
        ('"" user:x', "line 1: no url pattern"),
        ("a/ user:x case=maybe", "line 1: case=maybe is neither"),
        ("a/ user:x unqualified=1", "line 1: unqualified=1 is neither"),
        ("a/ user:x\na/ user:y", "line 2: 'a/' has a line already"),
        ("\n".join(f"p{number}/" for number in range(30)), "; and 10 more"),
    ],
)
def test_file_with_a_fault_is_refused_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_policies(text)
    assert fault in str(refused.value)


def test_policy_that_denies_everybody_is_given_out_as_a_comment() -> None:
    assert render_policies([PolicyAcl(pattern="a/")]) == "# a/ denies everybody\n"


names = st.text(min_size=1, max_size=12).map(str.strip).filter(bool) | st.sampled_from(
    ("a user:b", "x right=none", '"', "user:x", "a  b", "\\")
)
entries = st.builds(
    Entry,
    access=st.sampled_from(Access),
    principal=st.builds(
        Principal,
        scope=st.sampled_from(Scope),
        name=names,
        namespace=names | st.just("Default"),
        case_sensitive=st.booleans(),
        unqualified=st.booleans(),
    ),
)
policies = st.lists(
    st.builds(PolicyAcl, pattern=names | st.just("example.com/"), entries=st.lists(entries, min_size=1, max_size=4).map(tuple)),
    max_size=4,
    unique_by=lambda policy: policy.pattern,
)


@settings(max_examples=count_examples(100))
@given(policies)
def test_what_is_given_out_is_read_back_as_it_was(made: list[PolicyAcl]) -> None:
    assert list(read_policies(render_policies(made))) == made


@settings(max_examples=count_examples(100))
@given(st.text(alphabet='ab: "\\=\nusergopihtnc#', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        made = read_policies(text)
    except BadRequest:
        return
    assert list(read_policies(render_policies(made))) == list(made)


FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:gsa="http://schemas.google.com/gsa/2007"><title>policyAcls</title>
<entry><id>x</id><content>urlPattern</content>
  <gsa:content name="entryID">a</gsa:content><gsa:content name="urlPattern">example.com/a&amp;b/</gsa:content>
  <gsa:content name="acl">group:engineer user:polly</gsa:content></entry>
{more}</feed>
"""
ENTRY = '<entry><gsa:content name="urlPattern">{pattern}</gsa:content><gsa:content name="acl">{acl}</gsa:content></entry>'


def test_feed_of_the_old_api_is_read_as_lines_are() -> None:
    more = ENTRY.format(pattern=" contains:x ", acl="user:david right=none\n group:all")
    assert read_lines("\ufeff" + FEED.format(more=more)) == [
        ("example.com/a&b/", "permit group engineer", "permit user polly"),
        ("contains:x", "deny user david", "permit group all"),
    ]
    assert read_policies('<feed xmlns="http://www.w3.org/2005/Atom"/>') == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (FEED.format(more=ENTRY.format(pattern="", acl="x")), "line 6: no url pattern"),
        (FEED.format(more=ENTRY.format(pattern="a/", acl="")), "line 6: no user and no group"),
        (FEED.format(more=ENTRY.format(pattern="example.com/a&amp;b/", acl="x")), "line 6: 'example.com/a&b/' has a line already"),
        (FEED.format(more="<entry>"), "line 6: not XML"),
        ('<!DOCTYPE feed [<!ENTITY a "b">]><feed/>', "line 1: a document type declaration"),
        ("<a>" * 50, "nested more than 40 deep"),
    ],
    ids=["pattern", "acl", "twice", "cut", "doctype", "deep"],
)
def test_feed_with_a_fault_is_refused_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_policies(text)
    assert fault in str(refused.value)
