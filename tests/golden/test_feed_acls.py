import pytest

from feedmill.model.access import Access, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.change import AclChange, InvalidRecord, PutAcl, PutDocument, RequestCrawl
from feedmill.model.feed import FeedKind
from feedmill.wire.gsafeed import gather
from tests.builders.access import acl, permit
from tests.golden.feedtext import feed_of, read_all, read_one, reader, reasons, record_of

JOE = permit("joe")
PERMIT_JOE = "<principal scope='user' access='permit'>joe</principal>"


def metas(*pairs: tuple[str, str], **attributes: str) -> str:
    written = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<metadata{written}>" + "".join(f'<meta name="{name}" content="{value}"/>' for name, value in pairs) + "</metadata>"


def acl_of(inside: str) -> AclChange:
    return read_one(feed_of(record_of(inside)), PutDocument).acl


def test_group_acl_is_a_change_of_its_own() -> None:
    acl = f"<acl url=' http://a.example.com/?share ' inheritance-type='AND_BOTH_PERMIT' inherit-from='http://p.example.com/'>{PERMIT_JOE}</acl>"
    change = read_one(feed_of(acl), PutAcl)
    assert change.url == "http://a.example.com/?share"
    assert change.acl == Acl(entries=(JOE,), inheritance_type=InheritanceType.AND_BOTH_PERMIT, inherit_from="http://p.example.com/")


def test_group_acl_without_entries_is_an_empty_acl() -> None:
    assert read_one(feed_of("<acl url='http://a.example.com/'/>"), PutAcl).acl == Acl()


def test_group_acl_without_url_is_an_error_that_is_no_record() -> None:
    change = read_one(feed_of(f"\n<acl>{PERMIT_JOE}</acl>"), InvalidRecord)
    assert (change.place.record, change.place.line, change.url) == (0, 2, None)


def test_group_acl_in_deleting_group_removes() -> None:
    feed = f"<gsafeed><group action='delete'><acl url='http://a.example.com/'>{PERMIT_JOE}</acl></group></gsafeed>".encode()
    assert read_one(feed, PutAcl).acl is None


def test_group_acl_in_group_of_unknown_action_is_an_error() -> None:
    feed = b"<gsafeed><group action='odd'><acl url='http://a.example.com/'/></group></gsafeed>"
    assert read_one(feed, InvalidRecord).url == "http://a.example.com/"


def test_record_acl_belongs_to_the_record_whatever_its_url_says() -> None:
    change = read_one(feed_of(record_of(f"<acl url='http://other.example.com/'>{PERMIT_JOE}</acl>")), PutDocument)
    assert change.acl == AclChange(element=acl(JOE))
    assert reasons(change.notes) == "notice: the url of an <acl> inside a record is ignored"


def test_record_acl_inside_the_metadata_is_the_records_own() -> None:
    change = acl_of(f"<metadata><meta name='k' content='v'/><acl>{PERMIT_JOE}</acl></metadata><content>x</content>")
    assert change.element == acl(JOE)


@pytest.mark.parametrize("inside", [PERMIT_JOE, f"<metadata>{PERMIT_JOE}</metadata>"])
def test_principal_outside_an_acl_is_an_error(inside: str) -> None:
    change = read_one(feed_of(record_of(inside + "<content>x</content>")), InvalidRecord)
    assert change.reason == "a <principal> stands outside an <acl>"


def test_record_acl_in_feed_of_urls_is_read() -> None:
    feed = feed_of(record_of(f"<acl>{PERMIT_JOE}</acl>"))
    assert read_one(feed, RequestCrawl, FeedKind.METADATA_AND_URL).acl.element == acl(JOE)


def test_principals_are_trimmed_and_empty_ones_skipped() -> None:
    inside = """<acl><principal scope="group" access="deny" namespace=" ns " case-sensitivity-type="EVERYTHING_CASE_INSENSITIVE"
      principal-type="unqualified">
        CORP\\Site Owners
      </principal><principal scope='user' access='permit'>   </principal><principal/></acl>"""
    group = Principal(scope=Scope.GROUP, name="CORP\\Site Owners", namespace="ns", case_sensitive=False, unqualified=True)
    assert acl_of(inside).element == acl(Entry(access=Access.DENY, principal=group))


@pytest.mark.parametrize(
    "attributes",
    [
        "access='permit'",
        "scope='user'",
        "scope='role' access='permit'",
        "scope='user' access='maybe'",
        "scope='user' access='permit' case-sensitivity-type='odd'",
        "scope='user' access='permit' principal-type='odd'",
    ],
)
def test_principal_that_cannot_be_read_is_an_error_of_its_acl(attributes: str) -> None:
    acl = f"{PERMIT_JOE}<principal {attributes}>ann</principal>"
    assert "ann" in read_one(feed_of(record_of(f"<acl>{acl}</acl><content>x</content>")), InvalidRecord).reason
    assert "ann" in read_one(feed_of(f"<acl url='http://a.example.com/'>{acl}</acl>"), InvalidRecord).reason


def test_unknown_inheritance_type_is_an_error() -> None:
    assert "inheritance-type" in read_one(feed_of(record_of("<acl inheritance-type='odd'/>")), InvalidRecord).reason


def test_two_acls_in_a_record_are_an_error() -> None:
    assert "<acl>" in read_one(feed_of(record_of(f"<acl/><acl>{PERMIT_JOE}</acl>")), InvalidRecord).reason


def test_principals_beyond_the_limit_cost_the_acl_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MAX_PRINCIPALS", 3)
    _, changes = read_all(reader(feed_of(f"<acl url='http://a.example.com/'>{PERMIT_JOE * 4}</acl>", record_of())))
    assert isinstance(changes[0], InvalidRecord)
    assert changes[0].reason == "an ACL with more than 3 principals"
    assert isinstance(changes[1], PutDocument)


def test_characters_of_principals_beyond_the_limit_cost_the_acl_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MAX_PRINCIPAL_CHARACTERS", 30)
    assert "30 characters" in read_one(feed_of(f"<acl url='http://a.example.com/'>{PERMIT_JOE * 9}</acl>"), InvalidRecord).reason


def test_name_of_principal_beyond_the_limit_is_an_error() -> None:
    for length in (1_001, 300_000):
        acl = f"<acl url='http://a.example.com/'><principal scope='user' access='permit'>{'x' * length}</principal></acl>"
        assert "1000" in read_one(feed_of(acl), InvalidRecord).reason


def test_legacy_metadata_becomes_an_acl_and_never_metadata() -> None:
    inside = metas(
        ("google:aclusers", "joe"),
        ("google:aclusers", " ann=writer "),
        ("google:aclgroups", "eng=peeker"),
        ("google:acldenyusers", "bob=OWNER"),
        ("google:ACLdenygroups", "ops=reader"),
        ("google:acldenygroups", "all=peeker"),
        ("google:aclinheritfrom", "http://p.example.com/"),
        ("google:aclinheritancetype", "parent-overrides"),
        ("google:action", "add"),
        ("title", "t"),
    )
    change = read_one(feed_of(record_of(inside)), PutDocument)
    assert change.metadata == (("google:action", "add"), ("title", "t"))
    legacy = change.acl.legacy
    assert legacy is not None
    assert [(entry.access.value, entry.principal.scope.value, entry.principal.name) for entry in legacy.entries] == [
        ("permit", "user", "joe"),
        ("permit", "user", "ann"),
        ("deny", "user", "bob"),
        ("deny", "group", "ops"),
    ]
    assert (legacy.inheritance_type, legacy.inherit_from) == (InheritanceType.PARENT_OVERRIDES, "http://p.example.com/")
    assert change.acl.element is None


def test_legacy_metadata_alone_is_metadata_without_entries() -> None:
    change = read_one(feed_of(record_of(metas(("google:aclusers", "joe")))), PutDocument)
    assert change.metadata == ()
    assert change.acl.legacy == acl(JOE)


def test_legacy_entries_without_a_name_leave_an_acl_that_permits_no_user() -> None:
    assert acl_of(metas(("google:aclusers", "joe=peeker"))).legacy == Acl()
    assert acl_of(metas(("google:aclusers", ""), ("title", "t"))).legacy == Acl()


def test_empty_legacy_entries_alone_are_no_metadata() -> None:
    change = read_one(feed_of(record_of(metas(("google:aclusers", "")))), PutDocument)
    assert change.metadata is None
    assert change.acl.legacy is None
    assert "without a value" in reasons(change.notes)


def test_legacy_entries_beside_an_element_are_dropped_with_a_warning() -> None:
    change = read_one(feed_of(record_of(f"<acl>{PERMIT_JOE}</acl>" + metas(("google:aclusers", "ann"), ("title", "t")))), PutDocument)
    assert change.acl == AclChange(element=acl(JOE))
    assert change.metadata == (("title", "t"),)
    assert "google:acl" in reasons(change.notes)


@pytest.mark.parametrize(
    "pairs",
    [
        (("google:acluser", "joe"),),
        (("google:aclinheritancetype", "odd"),),
        (("google:aclinheritfrom", "http://a.example.com/"), ("google:aclinheritfrom", "http://b.example.com/")),
        (("google:aclusers", "x" * 1_001),),
        (("google:aclinheritfrom", "x" * 9_000),),
    ],
)
def test_legacy_metadata_that_cannot_be_read_is_an_error(pairs: tuple[tuple[str, str], ...]) -> None:
    change = read_one(feed_of(record_of(metas(*pairs, ("title", "t")) + "<content>x</content>")), InvalidRecord)
    assert change.url == "http://a.example.com/1"


@pytest.mark.parametrize(("written", "read"), [("true", True), ("FALSE", False), ("", None), ("odd", False)])
def test_overwrite_acls_is_read_as_written(written: str, read: bool | None) -> None:
    assert acl_of(metas(("title", "t"), overwrite_acls=written)).overwrite is read


def test_overwrite_acls_not_written_is_none_and_the_closed_one_of_several_wins() -> None:
    assert acl_of(metas(("title", "t"))).overwrite is None
    assert acl_of(metas(("title", "t"), overwrite_acls="true") + metas(("a", "b"), overwrite_acls="false")).overwrite is False
    assert acl_of(metas(("title", "t"), overwrite_acls="false") + metas(("a", "b"), overwrite_acls="true")).overwrite is False


def test_acl_of_record_in_error_is_not_read_for_deletes() -> None:
    _, changes = read_all(reader(feed_of(record_of("<acl inheritance-type='odd'/>", action="delete"))))
    assert type(changes[0]).__name__ == "Delete"
