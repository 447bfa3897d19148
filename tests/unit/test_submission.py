"""What a feed's fields say."""

import pytest

from feedmill.core.documents.submission import Submission, read_groups_submission, read_submission
from feedmill.model.errors import BadRequest
from feedmill.model.feed import FeedKind


@pytest.mark.parametrize(
    ("datasource", "feedtype", "kind"),
    [
        ("hr", "full", FeedKind.FULL),
        ("_h-r9", " Incremental\r\n", FeedKind.INCREMENTAL),
        ("hr", "METADATA-AND-URL", FeedKind.METADATA_AND_URL),
        ("hr", "METADATA_AND_URL", FeedKind.METADATA_AND_URL),
        ("web", "full", FeedKind.METADATA_AND_URL),
        ("web", "incremental", FeedKind.METADATA_AND_URL),
        ("Web", "full", FeedKind.FULL),
        ("a" * 250, "full", FeedKind.FULL),
    ],
)
def test_read_submission_good_fields_give_source_and_kind(datasource: str, feedtype: str, kind: FeedKind) -> None:
    values = {"datasource": f" {datasource} ", "feedtype": feedtype}
    assert read_submission(values) == Submission(datasource=datasource, kind=kind)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "field datasource is missing"),
        ({"feedtype": "full", "datasource": " "}, "field datasource is missing"),
        ({"datasource": "hr"}, "field feedtype is missing; give one of full, incremental, metadata-and-url"),
        ({"datasource": "hr", "feedtype": "delete"}, "field feedtype is 'delete'"),
        ({"datasource": "web", "feedtype": "nonsense"}, "field feedtype is 'nonsense'"),
        ({"datasource": "9hr", "feedtype": "full"}, "field datasource is '9hr'"),
        ({"datasource": "h r", "feedtype": "full"}, "letters, digits, underscores and hyphens"),
        ({"datasource": "h\u00e9", "feedtype": "full"}, r"'h\\xe9'"),
        ({"datasource": "a" * 251, "feedtype": "full"}, "at most 250 characters"),
        ({"datasource": "hr\n", "feedtype": "full\x00"}, "field feedtype is"),
    ],
)
def test_read_submission_bad_fields_are_refused_by_name(values: dict[str, str], text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        read_submission(values)


@pytest.mark.parametrize(
    ("values", "has_data", "source", "kind"),
    [
        ({"groupsource": " SITEID-4f ", "feedtype": "Full"}, True, "SITEID-4f", FeedKind.GROUPS_FULL),
        ({"groupsource": "adaptor_host_5678", "feedtype": "incremental"}, True, "adaptor_host_5678", FeedKind.GROUPS_INCREMENTAL),
        ({"groupsource": "web", "feedtype": "full"}, False, "web", FeedKind.GROUPS_FULL),
        ({"replace": "ldap"}, True, "ldap", FeedKind.GROUPS_FULL),
        ({"replace": "ldap", "groupsource": "ldap", "feedtype": "nonsense"}, True, "ldap", FeedKind.GROUPS_FULL),
        ({"cleanup": "a-REPL1", "feedtype": ""}, False, "a-REPL1", FeedKind.GROUPS_CLEANUP),
        ({"cleanup": "x", "replace": " "}, False, "x", FeedKind.GROUPS_CLEANUP),
    ],
)
def test_read_groups_submission_good_fields_give_source_and_kind(
    values: dict[str, str], has_data: bool, source: str, kind: FeedKind
) -> None:
    assert read_groups_submission(values, has_data=has_data) == Submission(datasource=source, kind=kind)


@pytest.mark.parametrize(
    ("values", "has_data", "text"),
    [
        ({"datasource": "hr", "feedtype": "full"}, True, "field groupsource is missing"),
        ({"groupsource": "hr"}, True, "field feedtype is missing; give one of full, incremental$"),
        ({"groupsource": "hr", "feedtype": "metadata-and-url"}, True, "field feedtype is 'metadata-and-url'"),
        ({"cleanup": "9a"}, False, "field cleanup is '9a'"),
        ({"replace": "a b"}, True, "field replace is 'a b'"),
        ({"cleanup": "a"}, True, "send it alone"),
        ({"cleanup": "a", "replace": "a"}, False, "fields cleanup and replace contradict"),
        ({"cleanup": "a", "groupsource": "b"}, False, "fields cleanup and groupsource contradict"),
    ],
)
def test_read_groups_submission_bad_fields_are_refused_by_name(values: dict[str, str], has_data: bool, text: str) -> None:
    with pytest.raises(BadRequest, match=text):
        read_groups_submission(values, has_data=has_data)
