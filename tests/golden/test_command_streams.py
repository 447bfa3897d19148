"""Bytes of command streams and what they mean, one case for each rule.

Each case agrees with the parser of googlegsa/library, which read the same bytes. The names of the tests begin with the sections of
``docs/reference/command-streams.md``.
"""

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

import pytest

from feedmill.model.access import InheritanceType
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadStream
from feedmill.wire.commandstream.authorizer import AuthorizerReader
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.retriever import MAX_HEAD_CHARACTERS, RetrieverReader
from feedmill.wire.commandstream.schema import Decisions, ListedDocument, NamedPrincipal, RetrievedAcl, RetrievedDocument
from feedmill.wire.commandstream.tokens import MAX_DELIMITER_BYTES, MAX_TOKEN_BYTES

HEADER = b"GSA Adaptor Data Version 1 [\n]\n"
PREFIX = "Adaptor data must begin with 'GSA Adaptor Data Version'"
LONG_VERSION = "is invalid. The version must be at least one digit with one leading space and one trailing space."

_Result = TypeVar("_Result")


def list_documents(data: bytes) -> list[ListedDocument]:
    reader = ListerReader()
    return [*reader.feed(data), *reader.close()]


def list_ids(data: bytes) -> list[str]:
    return [document.id for document in list_documents(data)]


def retrieve(lines: bytes, requested_id: str | None = None) -> RetrievedDocument:
    reader = RetrieverReader(requested_id)
    reader.feed(HEADER + lines)
    return reader.close()


def authorize(lines: bytes) -> Decisions:
    reader = AuthorizerReader()
    reader.feed(HEADER + lines)
    return reader.close()


def fail(read: Callable[[bytes], _Result], data: bytes) -> str:
    with pytest.raises(BadStream) as raised:
        read(data)
    return str(raised.value)


@pytest.mark.parametrize(
    ("head", "error"),
    [
        (b"", PREFIX),
        (b"GSA Adaptor Data", PREFIX),
        (b"gsa adaptor data version 1 [\n]", PREFIX),
        (b"[", PREFIX),
        (b"GSA Adaptor Data Version[\n]", f"Format version '' {LONG_VERSION}"),
        (b"GSA Adaptor Data Version 1[\n]", f"Format version ' 1' {LONG_VERSION}"),
        # the length of the version is checked before the delimiter, its digits after it
        (b"GSA Adaptor Data Version 1[a]", f"Format version ' 1' {LONG_VERSION}"),
        (b"GSA Adaptor Data Version one []", "Delimiter must be at least one character long."),
        (b"GSA Adaptor Data Version one [a]", "Invalid character in delimiter."),
        (b"GSA Adaptor Data Version one [\n]", "Format version ' one ' is invalid."),
        (b"GSA Adaptor Data Version 1.0 [\n]", "Format version ' 1.0 ' is invalid."),
        (b"GSA Adaptor Data Version 2147483648 [\n]", "Format version ' 2147483648 ' is invalid."),
        (b"GSA Adaptor Data Version 1 ", "Delimiter must be at least one character long."),
        (b"GSA Adaptor Data Version 1 [", "Delimiter must be at least one character long."),
        (b"GSA Adaptor Data Version 1 [\xc0\x81]", "Invalid modified UTF-8 byte sequence: 192 129"),
    ],
)
def test_header_wrong_is_refused_by_all_readers(head: bytes, error: str) -> None:
    readers: tuple[Callable[[], ListerReader | RetrieverReader | AuthorizerReader], ...] = (ListerReader, RetrieverReader, AuthorizerReader)
    for make in readers:
        with pytest.raises(BadStream) as raised:
            _read_all(make(), head)
        assert (str(raised.value), raised.value.offset, raised.value.command) == (error, 0, 0)


def _read_all(reader: ListerReader | RetrieverReader | AuthorizerReader, data: bytes) -> None:
    if isinstance(reader, ListerReader):
        _read_in_pieces(reader, data, 1_000)
    else:
        reader.feed(data)
        reader.close()


@pytest.mark.parametrize("character", "AZaz09:/-_ =+[")
def test_header_forbidden_character_in_delimiter_is_refused(character: str) -> None:
    assert fail(list_documents, f"GSA Adaptor Data Version 1 [.{character}]".encode()) == "Invalid character in delimiter."


@pytest.mark.parametrize("version", [" 1 ", " 2 ", " -1 ", " +7 ", "  1", "\t1\t", " 0001 ", " ١ "])
def test_header_any_integer_is_a_version(version: str) -> None:
    assert list_ids(f"GSA Adaptor Data Version{version}[\n]\nid=a".encode()) == ["a"]


@pytest.mark.parametrize("delimiter", ["\0", "\n", "\r\n", "~!#$%^&*(){}", "ĀÁÂḀⒶ", "ტყაოსანი", "!!", "!?!."])
def test_header_delimiter_of_any_other_characters_delimits(delimiter: str) -> None:
    data = f"GSA Adaptor Data Version 1 [{delimiter}]{delimiter}id=a{delimiter}{delimiter}lock{delimiter}id=b{delimiter}".encode()
    assert list_documents(data) == [ListedDocument("a", lock=True), ListedDocument("b")]


def test_header_delimiter_ends_at_the_first_bracket() -> None:
    assert list_ids(b"GSA Adaptor Data Version 1 [!]]!id=a!id=b") == ["a", "b"]


def test_header_delimiter_in_modified_utf8_is_its_character() -> None:
    assert list_ids(b"GSA Adaptor Data Version 1 [\xc0\x80]\0id=a\0id=b\n") == ["a", "b\n"]
    assert list_ids(b"GSA Adaptor Data Version 1 [\xc0\x8a]\nid=a") == ["a"]


def test_header_alone_is_empty_except_for_a_retriever() -> None:
    assert list_documents(HEADER) == []
    assert list_documents(b"GSA Adaptor Data Version 1 [\n") == []
    assert authorize(b"") == {}
    assert fail(retrieve, b"") == "Invalid or missing retriever data."


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        (b"id=a", ["a"]),
        (b"\n\n\nid=a\n\n\nid=b\n\n", ["a", "b"]),
        (b"id= a =b= ", [" a =b= "]),
        (b"id=", [""]),
        (b"id=a\r\nid=b\r", ["a\r", "b\r"]),
        (b"id=a\xc0\x80b\xc0\x8ac", ["a\0b\nc"]),
        ("id=é€😀".encode(), ["é€😀"]),
        (b"id-list\na\nb\n\nid=c", ["a", "b", "c"]),
        (
            b"id=a\nid-list\nid=b\nlock\nid-list\nrepository-unavailable\n\nid=c",
            ["a", "id=b", "lock", "id-list", "repository-unavailable", "c"],
        ),
        (b"id-list\n\nid=a", ["a"]),
        (b"id-list=\nid=a", ["a"]),
        (b"unknown\nmeta-content=x\nID=x\n=x\nid=a\nusername=x", ["a"]),
    ],
)
def test_tokens_become_ids(body: bytes, ids: list[str]) -> None:
    assert list_ids(HEADER + body) == ids


def test_tokens_delimiter_is_missed_after_a_part_of_it() -> None:
    crlf = b"GSA Adaptor Data Version 1 [\r\n]\r\n"
    assert list_ids(crlf + b"id=a\r\r\nid=b\r\nid=c\r") == ["a\r\r\nid=b", "c\r"]
    assert list_ids(b"GSA Adaptor Data Version 1 [!?!.]!?!.id=a!?!?!.id=b") == ["a!?!?!.id=b"]


@pytest.mark.parametrize(
    ("token", "error"),
    [
        (b"id=\xc0\x81", "Invalid modified UTF-8 byte sequence: 192 129"),
        (b"id=\xc0\xc0\x80", "Invalid modified UTF-8 byte sequence: 192 192"),
        (b"id=\xc0", "Invalid modified UTF-8 byte sequence: trailing 192"),
        (b"id=\xff", "Invalid UTF-8 byte sequence: invalid start byte at byte 3 of the text"),
        (b"id=\xed\xa0\x80", "Invalid UTF-8 byte sequence: invalid continuation byte at byte 3 of the text"),
        (b"unknown\xff", "Invalid UTF-8 byte sequence: invalid start byte at byte 7 of the text"),
    ],
)
def test_tokens_wrong_bytes_are_refused(token: bytes, error: str) -> None:
    assert fail(list_documents, HEADER + token) == error


@pytest.mark.parametrize("text", ["", "=", "=down until noon"])
def test_repository_unavailable_ends_every_reading(text: str) -> None:
    error = f"Error: repository unavailable. {text[1:]}"
    lines = f"id=a\nrepository-unavailable{text}\nid=b".encode()
    for read in (lambda data: list_documents(HEADER + data), retrieve, authorize):
        assert fail(read, lines) == error


def test_lister_commands_set_fields() -> None:
    body = (
        b"id=a\nlast-modified=1292805597\nresult-link=http://e.com/a\ncrawl-immediately\ncrawl-once\nlock\ndelete\nid=b\nlast-modified=-5"
    )
    assert list_documents(HEADER + body) == [
        ListedDocument("a", 1_292_805_597, "http://e.com/a", crawl_immediately=True, crawl_once=True, lock=True, delete=True),
        ListedDocument("b", -5),
    ]


def test_lister_flag_is_set_whatever_its_argument() -> None:
    (document,) = list_documents(HEADER + b"id=a\nlock=false\ncrawl-once=\ndelete=no\ncrawl-immediately=0")
    assert (document.lock, document.crawl_once, document.delete, document.crawl_immediately) == (True, True, True, True)


def test_lister_last_value_counts_and_list_gets_commands() -> None:
    body = b"id-list\na\nb\n\nlast-modified=1\nlast-modified=+02\nresult-link=\n"
    assert list_documents(HEADER + body) == [ListedDocument("a"), ListedDocument("b", 2, "")]


def test_lister_repeated_id_is_listed_again() -> None:
    assert list_documents(HEADER + b"id=a\nlock\nid=a") == [ListedDocument("a", lock=True), ListedDocument("a")]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"lock", "Lister Error: the first operator must be a document ID.  Instead encountered 'LOCK'."),
        (b"id", "'id' has no argument"),
        (b"id=a\nmime-type=x", "Lister Error: invalid operation: 'MIME_TYPE' with argument: 'x'"),
        (b"id=a\nup-to-date", "Lister Error: invalid operation: 'UP_TO_DATE''"),
        (b"id=a\nresult-link=a b", "Lister Error: invalid URL: 'RESULT_LINK' with argument: 'a b'"),
        (b"id=a\nresult-link", "'result-link' has no argument"),
        (b"id=a\nlast-modified", "'last-modified' has no argument"),
    ],
)
def test_lister_wrong_command_is_refused(body: bytes, error: str) -> None:
    assert fail(list_documents, HEADER + body) == error


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("9223372036854775", 9_223_372_036_854_775),
        ("9223372036854776", None),
        ("-9223372036854775", -9_223_372_036_854_775),
        ("-9223372036854776", None),
        ("٣", 3),
        ("0" * 5_000 + "7", 7),
        ("1" * 5_000, None),
        ("𝟑", None),
        ("20110803 16:07:23", None),
        (" 1", None),
        ("1_0", None),
        ("1.0", None),
        ("", None),
    ],
)
def test_last_modified_is_an_integer_of_seconds(text: str, seconds: int | None) -> None:
    body = f"id=a\nlast-modified={text}".encode()
    if seconds is not None:
        assert list_documents(HEADER + body)[0].last_modified == seconds
        assert retrieve(body).last_modified == seconds
    else:
        assert fail(list_documents, HEADER + body) == fail(retrieve, body)


@pytest.mark.parametrize(
    ("last", "offset", "command"), [(b"lock\ncontent\nid=c\n", 15, 4), (b"lock\ncontent", 15, 4), (b"repository-unavailable\n", 10, 3)]
)
def test_lister_yields_complete_documents_before_an_error(last: bytes, offset: int, command: int) -> None:
    reader = ListerReader()
    documents = chain(reader.feed(HEADER + b"id=a\nid=b\n" + last), reader.close())
    assert next(documents) == ListedDocument("a")
    with pytest.raises(BadStream) as raised:
        next(documents)
    assert (raised.value.offset, raised.value.command) == (len(HEADER) + offset, command)


def test_lister_document_is_complete_when_an_id_without_argument_follows() -> None:
    reader = ListerReader()
    assert list(reader.feed(HEADER + b"id=a\nlock\nid")) == []
    documents = reader.close()
    assert next(documents) == ListedDocument("a", lock=True)
    with pytest.raises(BadStream, match="'id' has no argument"):
        next(documents)


def test_retriever_every_command() -> None:
    reader = RetrieverReader("a")
    lines = (
        b"id=a\nlast-modified=15\nmime-type=text/plain\ndisplay-url=http://e.com/d\nsecure=true\nno-index=TRUE\nno-follow=true\nno-archive=true\n"
        b"crawl-once=true\nlock=false\nmeta-name=n\nmeta-value=1\nmeta-name=n\nmeta-value=2\nparam-name=X-p\nparam-value=q\n"
        b"anchor-uri=http://e.com/\nanchor-text=t\nanchor-uri=\nanchor-text\ncontent\n\nlock\n\xff\xc0"
    )
    assert reader.feed(HEADER + lines) == b"\nlock\n\xff\xc0"
    assert reader.document == RetrievedDocument(
        id="a",
        last_modified=15,
        mime_type="text/plain",
        display_url="http://e.com/d",
        secure=True,
        no_index=True,
        no_follow=True,
        no_archive=True,
        crawl_once=True,
        lock=False,
        metadata=(("n", "1"), ("n", "2")),
        params=(("X-p", "q"),),
        anchors=(("http://e.com/", "t"), ("", None)),
        has_content=True,
    )
    assert reader.feed(b"more\n") == b"more\n"
    assert reader.close() is reader.document


@pytest.mark.parametrize(
    ("argument", "value"),
    [(b"=true", True), (b"=TrUe", True), (b"=yes", False), (b"=1", False), (b"= true", False), (b"=", False), (b"", False)],
)
def test_retriever_boolean_is_true_only_for_true(argument: bytes, value: bool) -> None:
    document = retrieve(b"id=a\nlock" + argument + b"\nsecure" + argument)
    assert (document.lock, document.secure, document.crawl_once) == (value, value, None)


def test_retriever_stream_without_a_response_is_no_error() -> None:
    assert retrieve(b"id=a") == RetrievedDocument(id="a")
    assert retrieve(b"id=a\nmime-type\nacl\n") == RetrievedDocument(id="a")


@pytest.mark.parametrize("end", [b"content", b"content\n", b"content=ignored\n", b"\ncontent\n"])
def test_retriever_content_may_be_empty(end: bytes) -> None:
    assert retrieve(b"id=a\n" + end) == RetrievedDocument(id="a", has_content=True)


def test_retriever_up_to_date_and_not_found_settle() -> None:
    assert retrieve(b"id=a\nlast-modified=15\nup-to-date=x") == RetrievedDocument(id="a", last_modified=15, up_to_date=True)
    assert retrieve(b"id=a\nnot-found\nunknown\nacl\nacl-permit-user=x") == RetrievedDocument(id="a", not_found=True)


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (b"up-to-date", "Retriever Error: the first operator must be a document ID.  Instead encountered 'UP_TO_DATE'."),
        (b"id", "'id' has no argument"),
        (b"id=a\nid=a", "Only one document ID can be specified in a retriever message"),
        (b"id-list\na\nb", "Only one document ID can be specified in a retriever message"),
        (b"id=b", "requested document DocId(a) does not match retrieved document DocId(b)."),
        (b"id=a\nresult-link=x", "Retriever Error: invalid operation: 'RESULT_LINK' with argument: 'x'"),
        (b"id=a\ndelete", "Retriever Error: invalid operation: 'DELETE'"),
        (b"id=a\nmeta-value=x", "Retriever Error: invalid operation: 'META_VALUE' with argument: 'x'"),
        (b"id=a\nmeta-name=n\nmeta-content=v\n", "meta-name must be immediately followed by meta-value"),
        (b"id=a\nmeta-name=n\nid=a", "meta-name must be immediately followed by meta-value"),
        (b"id=a\nmeta-name=n", "meta-name must be immediately followed by meta-value"),
        (b"id=a\nmeta-name=n\nmeta-value", "'meta-value' has no argument"),
        (b"id=a\nmeta-name\nmeta-value=v", "'meta-name' has no argument"),
        (b"id=a\nparam-name=X-a\nlock", "param-name must be immediately followed by param-value"),
        (b"id=a\nparam-name=x-a\nparam-value=b", "The param key must start with 'X-'"),
        (b"id=a\nanchor-uri=http://e.com/\nlock", "anchor-uri must be immediately followed by anchor-text"),
        (b"id=a\nanchor-uri=a b\nanchor-text=x", "'anchor-uri' is no URI: 'a b'"),
        (b"id=a\ndisplay-url=http://", "'display-url' is no URI: 'http://'"),
        (b"id=a\nup-to-date\nnot-found", "Already responded: 'not-found' after 'up-to-date'"),
        (b"id=a\nnot-found\ncontent\nx", "Already responded: 'content' after 'not-found'"),
        (b"id=a\nup-to-date\nlock=true", "Already responded: a command after 'up-to-date' changes the document"),
        (b"id=a\nup-to-date\nmeta-name=n\nmeta-value=v", "Already responded: a command after 'up-to-date' changes the document"),
        (b"id=a\nup-to-date\nacl-permit-user=", "name cannot be empty"),
    ],
)
def test_retriever_wrong_command_is_refused(lines: bytes, error: str) -> None:
    assert fail(lambda data: retrieve(data, "a"), lines) == error


def test_retriever_pair_may_have_unknown_commands_between() -> None:
    assert retrieve(b"id=a\nmeta-name=n\nunknown=x\n\nmeta-value=v").metadata == (("n", "v"),)


def test_retriever_acl() -> None:
    acl = retrieve(
        b"id=a\nacl-permit-user= ted@abc \nacl\nacl-deny-group=todd@abc\n"
        b"namespace=Winds\nacl-permit-user=Banjo@Zephyr\nacl-permit-group=ward\nnamespace=Rolls\nacl-deny-user=bob\n"
        b"acl-inherit-from=london\nacl-inherit-fragment=lost\nacl-inherit-from=oxfords\nacl-inherit-fragment=left\n"
        b"acl-inheritance-type=and-both-permit\nacl-case-insensitive\ncontent\n"
    ).acl
    assert acl == RetrievedAcl(
        permit_users=(NamedPrincipal("Default", "ted@abc"), NamedPrincipal("Winds", "Banjo@Zephyr")),
        deny_users=(NamedPrincipal("Rolls", "bob"),),
        permit_groups=(NamedPrincipal("Winds", "ward"),),
        deny_groups=(NamedPrincipal("Default", "todd@abc"),),
        inherit_from="oxfords",
        inherit_fragment="left",
        inheritance_type=InheritanceType.AND_BOTH_PERMIT,
        case_sensitive=False,
    )


def test_retriever_acl_lines_without_acl_are_ignored() -> None:
    assert retrieve(b"id=a\nnamespace=n\nacl-permit-user=x\ncontent\n").acl is None
    assert retrieve(b"id=a\nacl\nup-to-date").acl == RetrievedAcl()


def test_retriever_acl_principals_are_the_library_s_sets() -> None:
    names = (b"z", b"CORP\\ann", b"ann@CORP", b"corp/Ann", b"a", b"Z", b"z")
    lines = b"id=a\nacl\n" + b"".join(b"acl-permit-user=" + name + b"\n" for name in names)
    sensitive, insensitive = (retrieve(lines + b"acl-case-" + case + b"\ncontent").acl for case in (b"sensitive", b"insensitive"))
    assert sensitive is not None
    assert insensitive is not None
    assert [name for _, name in sensitive.permit_users] == ["Z", "a", "z", "CORP\\ann", "corp/Ann"]
    assert [name for _, name in insensitive.permit_users] == ["a", "Z", "CORP\\ann"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"acl-permit-user", "'acl-permit-user' has no argument"),
        (b"acl-deny-group= \t", "name cannot be empty"),
        (b"namespace\nacl-deny-user=x", "'namespace' before 'acl-deny-user' has no argument"),
        (b"acl-inherit-fragment=x", "acl-inherit-fragment cannot preceed acl-inherit-from"),
        (b"acl-inherit-from", "'acl-inherit-from' has no argument"),
        (b"acl-inheritance-type=AND_BOTH_PERMIT", "invalid acl-inheritance-type: AND_BOTH_PERMIT"),
        (b"acl-inheritance-type", "invalid acl-inheritance-type: null"),
    ],
)
def test_retriever_wrong_acl_is_refused(line: bytes, error: str) -> None:
    assert fail(retrieve, b"id=a\n" + line) == error


def test_authorizer_statuses() -> None:
    lines = b"id=1\nauthz-status=PERMIT\nid=2\nauthz-status=DENY\nid=3\nauthz-status=INDETERMINATE\nid=4"
    assert authorize(lines) == {"1": Verdict.PERMIT, "2": Verdict.DENY, "3": Verdict.INDETERMINATE, "4": None}


@pytest.mark.parametrize(
    ("lines", "decisions"),
    [
        (b"id=1\nauthz-status=PERMIT\nauthz-status=DENY", {"1": Verdict.DENY}),
        (b"id=1\nauthz-status=PERMIT\nauthz-status=permit\nauthz-status=", {"1": Verdict.PERMIT}),
        (b"id=1\nauthz-status=allow", {"1": None}),
        (b"id=1\nauthz-status=PERMIT\nid=2\nid=1\nauthz-status=DENY", {"1": Verdict.DENY, "2": None}),
        (b"id=1\nauthz-status=PERMIT\nid=1", {"1": None}),
        (b"id\nauthz-status=PERMIT\nid=1", {"1": None}),
        (b"id-list\n1\n2\n\nauthz-status=PERMIT", {"1": None, "2": Verdict.PERMIT}),
    ],
)
def test_authorizer_last_status_counts(lines: bytes, decisions: Decisions) -> None:
    assert authorize(lines) == decisions


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (b"authz-status=PERMIT", "Authorizer Error: the first operator must be a document ID.  Instead encountered 'AUTHZ_STATUS'."),
        (b"id=1\nauthz-status", "'authz-status' has no argument"),
        (b"id=1\nlock=x", "Authorizer Error: invalid operation: 'LOCK' with argument: 'x'"),
        (b"id=1\ncontent\nx", "Authorizer Error: invalid operation: 'CONTENT'"),
        (b"id=1\nid", "'id' has no argument"),
    ],
)
def test_authorizer_wrong_command_is_refused(lines: bytes, error: str) -> None:
    assert fail(authorize, lines) == error


def _read_in_pieces(reader: ListerReader, data: bytes, size: int) -> list[ListedDocument]:
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return [*chain.from_iterable(map(reader.feed, pieces)), *reader.close()]


def test_limits_are_errors_at_the_same_place_for_every_split() -> None:
    token = b"id=" + b"x" * (MAX_TOKEN_BYTES - 3)
    assert len(list_documents(HEADER + token)) == 1
    data = HEADER + b"id=a\n" + token + b"x"
    for size in (len(data), 1_000_000):
        with pytest.raises(BadStream, match="a command is longer than 16000000 bytes") as raised:
            _read_in_pieces(ListerReader(), data, size)
        assert (raised.value.offset, raised.value.command) == (len(HEADER) + 5, 2)
    assert "the delimiter is longer" in fail(list_documents, b"GSA Adaptor Data Version 1 [" + b"!" * (MAX_DELIMITER_BYTES + 1) + b"]")
    assert "header is longer" in fail(list_documents, b"G" * (MAX_TOKEN_BYTES + 1))
    pair = b"meta-name=n\nmeta-value=" + b"v" * (MAX_TOKEN_BYTES - 11) + b"\n"
    assert f"longer than {MAX_HEAD_CHARACTERS}" in fail(retrieve, b"id=a\n" + pair * 5)


@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        (b"id=a\nunknown=x", "unknown command 'unknown' is ignored"),
        (b"id=a\nlock=false", "the argument of 'lock=false' is ignored"),
        (b"id=a\nid=a", "id 'a' stands in the stream before"),
        (b"id=", "the id is empty"),
        (b"id-list\na\n\nlock", "'lock' after a list of ids applies to the last id of the list"),
        (b"id-list\nlock=x", "a command in a list of ids is an id"),
    ],
)
def test_strict_lister_remarks(lines: bytes, remark: str) -> None:
    reader = ListerReader(strict=True)
    _read_all(reader, HEADER + lines)
    assert [each.reason for each in reader.remarks] == [remark]
    assert reader.remark_count == 1


@pytest.mark.parametrize(
    ("head", "remark"),
    [
        (b"GSA Adaptor Data Version 2 [\n]\n", "version 2 is read as version 1"),
        (b"GSA Adaptor Data Version  1 [\n]\n", "the version stands between other characters than one space on either side"),
        (b"GSA Adaptor Data Version 1 [\n]", "no delimiter follows the header"),
        (
            b"GSA Adaptor Data Version 1 [\r\n]\r\nid=b\r\r\nid=c\r\n",
            "a delimiter is missed, because the bytes before it are the start of one",
        ),
    ],
)
def test_strict_header_and_delimiter_remarks(head: bytes, remark: str) -> None:
    reader = ListerReader(strict=True)
    _read_all(reader, head + b"id=a")
    assert [each.reason for each in reader.remarks] == [remark]


@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        (b"lock=yes\ncontent", "'lock=yes' is read as false"),
        (b"lock\ncontent", "'lock' is read as false"),
        (b"content=x", "the argument of 'content=x' is ignored"),
        (b"acl=x\ncontent", "the argument of 'acl=x' is ignored"),
        (b"acl-permit-user=x\ncontent", "the lines of an ACL are ignored, because 'acl' is missing"),
        (b"up-to-date\nacl-permit-user=x", "'acl-permit-user' after 'up-to-date' has no effect"),
        (b"mime-type=x\nmime-type=y\ncontent", "'mime-type' replaces the one before"),
        (b"lock=true", "there is no content, up-to-date or not-found, so the library answers nothing"),
    ],
)
def test_strict_retriever_remarks(lines: bytes, remark: str) -> None:
    reader = RetrieverReader(strict=True)
    reader.feed(HEADER + b"id=a\n" + lines)
    reader.close()
    assert [each.reason for each in reader.remarks] == [remark]


@pytest.mark.parametrize(
    ("lines", "remark"),
    [
        (b"id=1\nauthz-status=DENY\nauthz-status=deny", "unknown authz-status 'deny' is ignored"),
        (b"id=1", "there is no decision about id '1'"),
        (b"id=1\nauthz-status=DENY\nid=1\nauthz-status=DENY", "id '1' stands in the stream before"),
        (b"id\nid=1\nauthz-status=DENY", "the id before is skipped, because it has no equals sign"),
    ],
)
def test_strict_authorizer_remarks(lines: bytes, remark: str) -> None:
    reader = AuthorizerReader(strict=True)
    reader.feed(HEADER + lines)
    reader.close()
    assert [each.reason for each in reader.remarks] == [remark]


def test_strict_remark_has_its_place_for_every_split() -> None:
    data = HEADER + b"id-list\na\nb\n\nid=\xc0\x80\nodd\n" + b"id=c\n" * 20_000 + b"odd\n"
    for size in (1, 7, len(data)):
        reader = ListerReader(strict=True)
        _read_in_pieces(reader, data, size)
        assert reader.remarks[0][1:] == (len(HEADER) + 19, 4)
        assert reader.remark_count == 2 + 19_999
        assert len(reader.remarks) == 1_000
