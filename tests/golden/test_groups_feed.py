import pytest

from feedmill.model.access import Principal, Scope
from feedmill.model.change import InvalidRecord, PutGroup, SourcePosition
from feedmill.model.errors import BadFeed
from feedmill.wire.gsagroups import parse
from tests.feedreaders import gsagroups_reader
from tests.golden.feedtext import read_groups

GROUP = '<principal scope="GROUP">eng</principal>'


def groups_of(*memberships: str) -> bytes:
    return f"<xmlgroups>{''.join(f'<membership>{inside}</membership>' for inside in memberships)}</xmlgroups>".encode()


def fault_of(inside: str) -> str:
    (change,) = read_groups(groups_of(inside))
    assert isinstance(change, InvalidRecord)
    return change.reason


def test_membership_becomes_a_group_with_its_members() -> None:
    feed = b"""<?xml version='1.0' encoding='ISO-8859-1'?><!DOCTYPE gsafeed PUBLIC "-//Google//DTD GSA Feeds//EN" "gsafeed.dtd">
    <xmlgroups><!-- x --><membership source="others">
      <principal namespace="Default" case-sensitivity-type="EVERYTHING_CASE_INSENSITIVE" scope="GROUP">
         abc.com/group1
      </principal>
      <members>
        <principal scope="USER" namespace="other" case-sensitivity-type="EVERYTHING-CASE-SENSITIVE"> J\xf6rg </principal>
        <principal scope="group" principal-type="unqualified">a/b</principal>
        <principal scope="USER">  </principal>
      </members>
    </membership></xmlgroups>"""
    assert read_groups(feed) == [
        PutGroup(
            place=SourcePosition(record=1, line=2),
            group=Principal(scope=Scope.GROUP, name="abc.com/group1", case_sensitive=False),
            members=(
                Principal(scope=Scope.USER, name="J\u00f6rg", namespace="other"),
                Principal(scope=Scope.GROUP, name="a/b", unqualified=True),
            ),
        )
    ]


@pytest.mark.parametrize("inside", [GROUP, GROUP + "<members/>", "<members></members>" + GROUP])
def test_membership_without_members_empties_the_group(inside: str) -> None:
    (change,) = read_groups(groups_of(inside))
    assert isinstance(change, PutGroup)
    assert change.members == ()


@pytest.mark.parametrize("feed", [b"<xmlgroups/>", b"<xmlgroups>\n<!-- x --></xmlgroups>"])
def test_feed_without_memberships_is_an_empty_feed(feed: bytes) -> None:
    assert read_groups(feed) == []


def test_feed_with_another_root_is_refused() -> None:
    with pytest.raises(BadFeed, match="<xmlgroups>"):
        gsagroups_reader(b"<gsafeed><group/></gsafeed>").scan()


def test_membership_in_error_costs_itself_only() -> None:
    _, good = read_groups(groups_of("", GROUP))
    assert isinstance(good, PutGroup)
    assert good.place == SourcePosition(record=2, line=1)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("", "without a <principal>"),
        ("<principal scope='USER'>joe</principal>", "is a user"),
        ("<principal>eng</principal>", "scope"),
        ("<principal scope='GROUP'> </principal>", "no name"),
        (GROUP + GROUP, "more than one <principal>"),
        (GROUP + "<members><principal scope='ROLE'>x</principal></members>", "scope"),
        (GROUP + "<members><principal scope='USER' case-sensitivity-type='odd'>x</principal><principal>y</principal></members>", "case"),
        (f"<principal scope='GROUP' namespace='{'n' * 1_001}'>x</principal>", "namespace is longer"),
    ],
)
def test_membership_that_cannot_be_read_is_an_error(inside: str, said: str) -> None:
    assert said in fault_of(inside)


def test_members_beyond_the_limit_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_MEMBERS", 2)
    members = "<principal scope='USER'>x</principal>" * 4
    assert "more than 2 members" in fault_of(f"{GROUP}<members>{members}</members>")


def test_memberships_can_be_skipped_and_counted() -> None:
    reader = gsagroups_reader(groups_of(GROUP, "", GROUP))
    report = reader.scan()
    assert (report.records, report.changes) == (3, 3)
    assert [change.place.record for change in reader.changes(1)] == [2, 3]


def test_feed_that_needs_repair_is_repaired() -> None:
    (change,) = read_groups(groups_of(GROUP.replace("eng", "R&D")))
    assert isinstance(change, PutGroup)
    assert change.group.name == "R&D"


def test_unknown_things_are_counted() -> None:
    report = gsagroups_reader(b"<xmlgroups><x y='1'/></xmlgroups>").scan()
    assert "1 unknown" in report.log[0].reason


@pytest.mark.parametrize(
    ("inside", "group"),
    [
        (GROUP + '<members><principal scope="X">a</principal></members>', "eng"),
        ('<members><principal scope="X">a</principal></members>' + GROUP, "eng"),
        ('<principal scope="USER">eng</principal>', None),
        ("<members/>", None),
    ],
)
def test_membership_in_error_names_its_group_where_it_could_be_read(inside: str, group: str | None) -> None:
    (change,) = read_groups(groups_of(inside))
    assert isinstance(change, InvalidRecord)
    assert (change.group and change.group.name) == group
