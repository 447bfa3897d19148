"""Properties of command streams: what is written is read back, and every stream is read equally in pieces of any size."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.access import InheritanceType
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest, BadStream
from feedmill.wire.commandstream.acls import order_principals
from feedmill.wire.commandstream.authorizer import AuthorizerReader
from feedmill.wire.commandstream.javavalues import trim
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.render import Delimiter, render_decisions, render_document, render_listing, render_question
from feedmill.wire.commandstream.retriever import RetrieverReader
from feedmill.wire.commandstream.schema import Decisions, ListedDocument, NamedPrincipal, Operation, RetrievedAcl, RetrievedDocument
from feedmill.wire.commandstream.tokens import MAX_TOKEN_BYTES

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("\0\n\r=[]"), max_size=12)
SECONDS = st.integers(-9_223_372_036_854_775, 9_223_372_036_854_775)
URIS = st.sampled_from(["", "a/b", "http://e.com/a?b#c", "http://[::1]:80/", "mailto:é"])
DELIMITERS = st.sampled_from(Delimiter)
NAMES = TEXTS.map(trim).filter(bool) | st.sampled_from(["a", "A", "d\\a", "a@d"])
PRINCIPALS = st.lists(st.builds(NamedPrincipal, TEXTS, NAMES), max_size=5)


def order_all(acl: RetrievedAcl) -> RetrievedAcl:
    def order(principals: Iterable[NamedPrincipal]) -> tuple[NamedPrincipal, ...]:
        return order_principals(principals, case_sensitive=acl.case_sensitive)

    return replace(
        acl,
        permit_users=order(acl.permit_users),
        deny_users=order(acl.deny_users),
        permit_groups=order(acl.permit_groups),
        deny_groups=order(acl.deny_groups),
    )


ACLS = st.builds(
    RetrievedAcl,
    permit_users=PRINCIPALS,
    deny_users=PRINCIPALS,
    permit_groups=PRINCIPALS,
    deny_groups=PRINCIPALS,
    inherit_from=TEXTS,
    inherit_fragment=TEXTS | st.none(),
    inheritance_type=st.sampled_from(InheritanceType),
    case_sensitive=st.booleans(),
).map(order_all)
LISTED = st.builds(ListedDocument, TEXTS, SECONDS | st.none(), URIS | st.none(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
RESPONSES = st.sampled_from([Operation.CONTENT, Operation.UP_TO_DATE, Operation.NOT_FOUND])
RETRIEVED = st.builds(
    RetrievedDocument,
    id=TEXTS,
    last_modified=SECONDS | st.none(),
    mime_type=TEXTS | st.none(),
    display_url=URIS | st.none(),
    secure=st.booleans(),
    no_index=st.booleans(),
    no_follow=st.booleans(),
    no_archive=st.booleans(),
    crawl_once=st.booleans() | st.none(),
    lock=st.booleans() | st.none(),
    metadata=st.lists(st.tuples(TEXTS, TEXTS), max_size=4).map(tuple),
    params=st.lists(st.tuples(TEXTS.map("X-{}".format), TEXTS | st.none()), max_size=4).map(tuple),
    anchors=st.lists(st.tuples(URIS, TEXTS | st.none()), max_size=4).map(tuple),
    acl=ACLS | st.none(),
)
# streams that are nearly right, and any bytes
OTHER_PARTS = (b"id-list", b"repository-unavailable", b"\n", b"\n", b"\n", b"=", b"a")
PARTS = st.sampled_from([*(operation.value.encode() for operation in Operation), *OTHER_PARTS])
HEADS = (
    b"",
    b"GSA Adaptor Data Version 1 [\n]\nid=a",
    b"GSA Adaptor Data Version 1 [\n]\nid=a\n",
    b"GSA Adaptor Data Version 2 [\n\r\n]",
)
BODIES = st.lists(PARTS | st.binary(max_size=8), max_size=20).map(b"".join)
STREAMS = st.builds(bytes.__add__, st.sampled_from(HEADS), BODIES)


@given(st.lists(LISTED, max_size=5), DELIMITERS)
def test_listing_written_is_read_back(documents: list[ListedDocument], delimiter: Delimiter) -> None:
    reader = ListerReader()
    data = b"".join(render_listing(documents, delimiter))
    assert [*reader.feed(data), *reader.close()] == documents


@given(RETRIEVED, RESPONSES, st.binary(max_size=20), DELIMITERS)
def test_document_written_is_read_back(document: RetrievedDocument, response: Operation, content: bytes, delimiter: Delimiter) -> None:
    document = replace(
        document,
        has_content=response is Operation.CONTENT,
        up_to_date=response is Operation.UP_TO_DATE,
        not_found=response is Operation.NOT_FOUND,
    )
    content = content if document.has_content else b""
    reader = RetrieverReader(document.id)
    assert reader.feed(render_document(document, delimiter) + content) == content
    assert reader.close() == document


@given(st.dictionaries(TEXTS, st.sampled_from(Verdict) | st.none()), DELIMITERS)
def test_decisions_written_are_read_back(decisions: Decisions, delimiter: Delimiter) -> None:
    reader = AuthorizerReader()
    reader.feed(b"".join(render_decisions(decisions, delimiter)))
    assert reader.close() == decisions


def read_listing(pieces: list[bytes]) -> Iterator[object]:
    reader = ListerReader(strict=True)
    yield from chain(chain.from_iterable(map(reader.feed, pieces)), reader.close())
    yield tuple(reader.remarks)


def read_document(pieces: list[bytes]) -> Iterator[object]:
    reader = RetrieverReader(strict=True)
    yield b"".join(map(reader.feed, pieces))
    yield reader.close()
    yield tuple(reader.remarks)


def read_decisions(pieces: list[bytes]) -> Iterator[object]:
    reader = AuthorizerReader(strict=True)
    for piece in pieces:
        reader.feed(piece)
    yield reader.close()
    yield tuple(reader.remarks)


def collect(results: Iterator[object]) -> list[object]:
    """Returns the results, and in the end the error with its place if there is one."""
    collected: list[object] = []
    try:
        for result in results:
            collected.append(result)
    except BadStream as exc:
        collected.append((str(exc), exc.offset, exc.command))
    return collected


@pytest.mark.parametrize("read", [read_listing, read_document, read_decisions])
def test_stream_in_any_pieces_is_read_equally(read: Callable[[list[bytes]], Iterator[object]]) -> None:
    @given(STREAMS, st.lists(st.integers(0, 60), max_size=5))
    def check(stream: bytes, cuts: list[int]) -> None:
        at = sorted(min(cut, len(stream)) for cut in cuts)
        pieces = [stream[begin:end] for begin, end in zip([0, *at], [*at, len(stream)], strict=True)]
        assert collect(read(pieces)) == collect(read([stream]))

    check()


DOCUMENT = RetrievedDocument(id="a", has_content=True)


@pytest.mark.parametrize(
    "document",
    [
        RetrievedDocument(id="\ud800"),
        RetrievedDocument(id="x" * MAX_TOKEN_BYTES),
        replace(DOCUMENT, up_to_date=True),
        replace(DOCUMENT, last_modified=9_223_372_036_854_776),
        replace(DOCUMENT, display_url="a b"),
        replace(DOCUMENT, params=(("Y-a", "b"),)),
        replace(DOCUMENT, anchors=(("http://", None),)),
        replace(DOCUMENT, acl=RetrievedAcl(inherit_fragment="x")),
        replace(DOCUMENT, acl=RetrievedAcl(permit_users=(NamedPrincipal("n", ""),))),
        replace(DOCUMENT, acl=RetrievedAcl(permit_users=(NamedPrincipal("n", " a"),))),
        replace(DOCUMENT, acl=RetrievedAcl(permit_users=(NamedPrincipal("n", "\ud800"),))),
        replace(DOCUMENT, acl=RetrievedAcl(permit_users=(NamedPrincipal("n", "b"), NamedPrincipal("n", "a")))),
        replace(DOCUMENT, acl=RetrievedAcl(), has_content=False),
    ],
)
def test_document_that_cannot_be_read_back_is_refused(document: RetrievedDocument) -> None:
    with pytest.raises(BadRequest):
        render_document(document)


def test_listing_that_cannot_be_read_back_is_refused() -> None:
    for document in (ListedDocument("\ud800"), ListedDocument("a", 2**63), ListedDocument("a", None, "a b")):
        with pytest.raises(BadRequest):
            list(render_listing([document]))


def test_question_has_the_order_of_the_library() -> None:
    assert render_question("ann", "secret", ["g", "h"], ["a", "b"], "\n") == (
        b"GSA Adaptor Data Version 1 [\n]\nusername=ann\npassword=secret\ngroup=g\ngroup=h\nid=a\nid=b\n"
    )
    assert render_question("é", None, [], []) == b"GSA Adaptor Data Version 1 [\0]\0username=\xc3\xa9\0"


@pytest.mark.parametrize(
    ("user", "password", "group", "document_id", "fault"),
    [
        ("a\nb", None, "g", "i", "username contains the delimiter"),
        ("a", "\n", "g", "i", "password contains the delimiter"),
        ("a", None, "g\n", "i", "group contains the delimiter"),
        ("a", None, "g", "\ni", "id contains the delimiter"),
        ("\ud800", None, "g", "i", "half of a character"),
    ],
)
def test_question_with_a_value_that_cannot_be_said_is_refused(
    user: str, password: str | None, group: str, document_id: str, fault: str
) -> None:
    with pytest.raises(BadRequest, match=fault):
        render_question(user, password, [group], [document_id], "\n")


@pytest.mark.parametrize("delimiter", ["", "a", "!]", "!" * 1_001])
def test_question_with_a_wrong_delimiter_is_refused(delimiter: str) -> None:
    with pytest.raises(BadRequest, match="delimiter"):
        render_question("u", None, [], [], delimiter)
