"""The configuration of command line adaptors: Java properties, and the keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.errors import BadRequest
from feedmill.wire.adaptorconfig.keys import ConfigFaults, read_config
from feedmill.wire.adaptorconfig.properties import parse_properties
from feedmill.wire.commandstream.adapt import DocumentIds

COMMANDS = {"commandline.lister.cmd": "l", "commandline.retriever.cmd": "r"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("  a:b\r\nc d\rE\tf", {"a": "b", "c": "d", "E": "f"}),
        ("a  =  b = c", {"a": "b = c"}),
        ("a : = b", {"a": "= b"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("# a=b\n  ! c=d\n\n \t\ne=f", {"e": "f"}),
        ("# a \\\nb=c", {"b": "c"}),
        ("a=b\\\n   c\\\n d", {"a": "bcd"}),
        ("a=b\\\n# no comment", {"a": "b# no comment"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
        ("a=C:\\\\docs\\q", {"a": "C:\\docsq"}),
        ("a=\\t\\n\\r\\f\\u00e4\\u0000\\#", {"a": "\t\n\r\fä\0#"}),
        ("a=\\uD83D\\uDE00", {"a": "😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, values: dict[str, str]) -> None:
    assert parse_properties(text.encode()) == values


def test_properties_are_utf_8_or_latin_1() -> None:
    assert parse_properties("ä=ö".encode()) == {"ä": "ö"}
    assert parse_properties("ä=ö".encode("latin-1")) == {"ä": "ö"}
    assert parse_properties(b"\xef\xbb\xbfa=b") == {"a": "b"}


@pytest.mark.parametrize("text", ["\na=\\u12", "\na=\\uwxyz", "\na=\\uD83D", "\na=\\u"])
def test_property_with_a_broken_escape_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(BadRequest, match="line 2: "):
        parse_properties(text.encode())


@given(st.binary(max_size=300))
def test_any_bytes_are_properties_or_refused(data: bytes) -> None:
    try:
        parse_properties(data)
    except BadRequest:
        return


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))))
def test_properties_that_escape_every_character_are_read_back(values: dict[str, str]) -> None:
    def escape(text: str) -> str:
        units = text.encode("utf-16-be")
        return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

    written = "\n".join(f"{escape(key)}={escape(value)}" for key, value in values.items())
    assert parse_properties(written.encode()) == values


# --- keys -------------------------------------------------------------------------------------------------------------------------


def test_command_has_its_arguments_up_to_the_first_gap() -> None:
    config = read_config(COMMANDS | {"commandline.lister.arg1": "-a", "commandline.lister.arg2": "b c", "gsa.hostname": "gsa"})
    assert (config.lister, config.retriever, config.authorizer) == (("l", "-a", "b c"), ("r",), ())
    assert (config.delimiter, config.ids_are_urls, config.limits.lister_seconds) == ("\0", False, 3_600.0)


def test_keys_of_the_library_and_our_own_are_read() -> None:
    values = {
        "commandline.authorizer.cmd": "a",
        "commandline.authorizer.delimeter": "\n",
        "docId.isUrl": "TRUE",
        "commandline.authorizer.patterns": "http://a/ http://b/",
        "adaptor.fullListingSchedule": "0 3 * * * | 0 15 * * *",
        "adaptor.incrementalPollPeriodSecs": "900",
        "limits.lister_seconds": "1.5",
        "limits.retriever_seconds": "2",
        "limits.output_mb": "3",
        "limits.retrievers": "5",
    }
    config = read_config(COMMANDS | values)
    assert (config.authorizer, config.delimiter, config.ids_are_urls) == (("a",), "\n", True)
    assert (config.full_schedule, config.poll_seconds) == ("0 3 * * * | 0 15 * * *", 900)
    limits = config.limits
    assert (limits.lister_seconds, limits.retriever_seconds, limits.output_bytes, limits.retrievers) == (1.5, 2.0, 3_000_000, 5)


@pytest.mark.parametrize(
    ("values", "key", "reason"),
    [
        ({"commandline.lister.cmd": ""}, "commandline.lister.cmd", "must not be empty"),
        ({"commandline.listr.cmd": "b"}, "commandline.listr.cmd", "unknown key"),
        ({"limits.arg1": "b"}, "limits.arg1", "unknown key"),
        ({"commandline.lister.arg1": "a\0b"}, "commandline.lister.cmd", "NUL"),
        ({"limits.lister_seconds": "0"}, "limits.lister_seconds", "'0' is not a number of seconds"),
        ({"limits.output_mb": "1.5"}, "limits.output_mb", "'1.5' is not a whole number"),
        ({"commandline.authorizer.delimeter": ":"}, "commandline.authorizer.delimeter", "no delimiter may contain"),
        ({"commandline.authorizer.cmd": "a", "docId.isUrl": "true"}, "commandline.authorizer.patterns", "docId.isUrl"),
        ({"metadata.transform.pipeline": "a"}, "metadata.transform.pipeline.a.factoryMethod", "'' cannot be run"),
    ],
)
def test_fault_is_named_with_its_key(values: dict[str, str], key: str, reason: str) -> None:
    faults = ConfigFaults()
    read_config(COMMANDS | values, faults)
    assert len(faults.found) == 1
    assert faults.found[0][0] == key
    assert reason in faults.found[0][1]


TRANSFORM = {
    "metadata.transform.pipeline": "a",
    "metadata.transform.pipeline.a.factoryMethod": "com.google.enterprise.adaptor.prebuilt.CommandLineTransform.create",
    "metadata.transform.pipeline.a.cmd": "t",
}


@pytest.mark.parametrize(
    ("values", "key", "reason"),
    [
        ({"commandline.lister.arg2": "b"}, "commandline.lister.arg2", "an argument with a smaller number is missing"),
        ({"commandline.authorizer.arg1": "b"}, "commandline.authorizer.arg1", "there is no commandline.authorizer.cmd"),
        (TRANSFORM | {"metadata.transform.pipeline.a.required": "true"}, "metadata.transform.pipeline.a.required", "no transform"),
        (TRANSFORM | {"metadata.transform.pipeline.a.arg2": "b"}, "metadata.transform.pipeline.a.arg2", "no transform"),
        ({"metadata.transform.pipeline.b.cmd": "b"}, "metadata.transform.pipeline.b.cmd", "no transform"),
    ],
)
def test_key_that_the_library_ignores_is_accepted_and_named(values: dict[str, str], key: str, reason: str) -> None:
    config = read_config(COMMANDS | values)
    assert (config.lister, config.authorizer) == (("l",), ())
    assert [name for name, _ in config.ignored] == [key]
    assert reason in config.ignored[0][1]


def test_missing_commands_are_named() -> None:
    faults = ConfigFaults()
    read_config({}, faults)
    assert faults.found == [(f"commandline.{name}.cmd", "this key must be given") for name in ("lister", "retriever")]


# --- ids --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identifier", "url"),
    [
        ("/docs/a b.txt", "adaptor://files//docs/a%20b.txt"),
        ("a/../b/./...", "adaptor://files/a/..../b/.../....."),
        ("a?b#c%d", "adaptor://files/a%3Fb%23c%25d"),
        ("ä\n", "adaptor://files/%C3%A4%0A"),
    ],
)
def test_id_is_percent_encoded(identifier: str, url: str) -> None:
    ids = DocumentIds(base="adaptor://files/")
    assert ids.find_url(identifier) == url
    assert ids.find_id(url) == identifier


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_id_is_found_again(identifier: str) -> None:
    ids = DocumentIds(base="adaptor://files/")
    assert ids.find_id(ids.find_url(identifier)) == identifier


@given(st.text(alphabet="./", max_size=12))
def test_id_of_dots_is_found_again_and_steps_nowhere(identifier: str) -> None:
    ids = DocumentIds(base="adaptor://files/")
    url = ids.find_url(identifier)
    assert ids.find_id(url) == identifier
    assert not {".", ".."} & set(url.removeprefix(ids.base).split("/"))


def test_url_that_no_id_has_is_none() -> None:
    ids = DocumentIds(base="adaptor://files/")
    assert ids.find_id("adaptor://other/a") is None
    assert ids.find_id("adaptor://files/a%2fb") is None
    assert ids.find_id("adaptor://files/%FF") is None
