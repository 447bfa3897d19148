import base64

import pytest

from feedmill.model.access import Acl
from feedmill.model.change import InvalidRecord, PutDocument
from feedmill.model.document import Metadata
from feedmill.wire.gsafeed import gather
from tests.golden.feedtext import feed_of, read_one, reasons, record_of


def coded(text: str, charset: str = "utf-8") -> str:
    return base64.b64encode(text.encode(charset)).decode()


def coded_meta(name: str, content: str) -> str:
    return f'<meta encoding="base64binary" name="{name}" content="{content}"/>'


def read(inside: str) -> tuple[Metadata | None, str]:
    change = read_one(feed_of(record_of(inside)), PutDocument)
    return change.metadata, reasons(change.notes)


def test_metadata_keeps_order_spelling_repeats_and_values_as_written() -> None:
    inside = "<metadata><meta name=' Dept ' content=' a '/><meta name='dept' content='b'/><meta name='Dept' content='c'/></metadata>"
    assert read(inside) == ((("Dept", " a "), ("dept", "b"), ("Dept", "c")), "")


def test_metadata_after_content_and_meta_without_metadata_are_read() -> None:
    inside = "<meta name='a' content='1'/><content>x</content><metadata><meta name='b' content='2'/></metadata><metadata/>"
    assert read(inside)[0] == (("a", "1"), ("b", "2"))


def test_other_google_names_are_metadata_like_any_other() -> None:
    assert read("<meta name='google:displayurl' content='x'/><meta name='google:ispublic' content='y'/>")[0] == (
        ("google:displayurl", "x"),
        ("google:ispublic", "y"),
    )


def test_meta_without_value_or_name_is_dropped_with_one_warning() -> None:
    metadata, notes = read("<meta name='Tags' content=''/><meta name='x'/><meta content='y'/><meta name='a' content='1'/>")
    assert metadata == (("a", "1"),)
    assert notes == "warning: 3 metadata entries without a value were dropped (Tags, x, without a name)"


def test_metas_that_were_all_dropped_are_no_metadata() -> None:
    assert read("<metadata overwrite-acls='true'><meta name='a' content=''/></metadata>")[0] is None
    assert read("<metadata/>") == (None, "")


def test_coded_meta_codes_name_and_content() -> None:
    assert read(coded_meta("cHJvamVjdF9uYW1l", "Y2lyY2xlZ19yb2Nrcw"))[0] == (("project_name", "circleg_rocks"),)
    assert read(coded_meta(coded("größe"), coded("zwölf\x01")))[0] == (("größe", "zwölf\x01"),)


def test_coded_meta_that_is_not_utf8_is_windows_1252_and_loses_zero_bytes() -> None:
    assert read(coded_meta(coded("größe", "cp1252"), coded("a\x00b")))[0] == (("größe", "ab"),)


def test_coded_meta_that_cannot_be_decoded_is_dropped_with_a_warning() -> None:
    for bad in (coded_meta("a!", coded("x")), coded_meta(coded("a"), "x!"), "<meta encoding='rot13' name='a' content='b'/>"):
        metadata, notes = read(bad + "<meta name='t' content='u'/>")
        assert metadata == (("t", "u"),)
        assert "was dropped" in notes


def test_many_metas_that_cannot_be_decoded_are_summed_up() -> None:
    _, notes = read("".join(coded_meta(f"a{n}!", "x") for n in range(12)))
    assert notes.count("warning") == 11
    assert "12 metadata entries in all" in notes


@pytest.mark.parametrize(
    "meta",
    [
        coded_meta("google:aclusers", coded("joe")),
        coded_meta(coded("google:aclusers"), "j!"),
        coded_meta(coded("google:aclusers") + "!", coded("joe")),
        coded_meta(coded("google:aclusers"), base64.b64encode(b"j\xf6").decode()),
        "<meta encoding='rot13' name='google:aclusers' content='b'/>",
    ],
)
def test_coded_acl_meta_that_cannot_be_decoded_is_an_error(meta: str) -> None:
    assert "ACL metadata" in read_one(feed_of(record_of(meta + "<meta name='t' content='u'/>")), InvalidRecord).reason


def test_coded_acl_meta_becomes_an_acl() -> None:
    change = read_one(feed_of(record_of(coded_meta(coded("google:aclusers"), coded("jö\x00e")))), PutDocument)
    assert isinstance(change.acl.legacy, Acl)
    assert change.acl.legacy.entries[0].principal.name == "jöe"


def test_name_beyond_the_limit_is_dropped() -> None:
    assert "1000" in read(f"<meta name='{'n' * 1_001}' content='x'/>")[1]


def test_metas_beyond_the_limits_cost_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MAX_METAS", 5)
    monkeypatch.setattr(gather, "MAX_META_CHARACTERS", 100)
    assert read_one(feed_of(record_of("<meta name='a' content='b'/>" * 7)), InvalidRecord).reason == "more than 5 metas in a record"
    assert "100 characters" in read_one(feed_of(record_of(f"<meta name='a' content='{'b' * 99}'/>" * 7)), InvalidRecord).reason
