"""What the commands of a command line adaptor print."""

from collections.abc import Iterable

from feedmill.model.errors import BadStream
from feedmill.wire.commandstream.authorizer import AuthorizerReader
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.retriever import RetrieverReader
from tests.fuzz.target import Target

_HEADER = b"GSA Adaptor Data Version 1 [\n]\n"
_WORDS = (
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\xc0\x80",
    b"\xc0\x8a",
    b"\xc0",
    b"[",
    b"]",
    b"=",
    b"\nid-list\n",
    b"\nid=",
    b"\nlast-modified=",
    b"\nmeta-name=",
    b"\nanchor-uri=http://[::1]/",
    b"\nacl-permit-user=",
    b"\ncontent\n",
    b"\nrepository-unavailable=",
    b"\nauthz-status=",
    b"99999999999999999999",
)


def _read_outcome(reader: ListerReader | RetrieverReader | AuthorizerReader, data: bytes, piece_bytes: int) -> tuple[list[object], str]:
    """Returns what a reader returns for pieces of one size, and the error with its place."""
    results: list[object] = []
    try:
        for at in range(0, len(data), piece_bytes):
            _collect(reader.feed(data[at : at + piece_bytes]), results)
        _collect(reader.close(), results)
    except BadStream as exc:
        return results, f"{exc} {exc.offset} {exc.command}"
    return results, repr(reader.remarks)


def _collect(returned: object, results: list[object]) -> None:
    """Adds what a reader returned, so that the size of the pieces makes no difference."""
    if isinstance(returned, Iterable):
        for each in returned:
            results.append(each)
    elif returned is not None:
        results.append(returned)


def _read_equally(make: type[ListerReader | RetrieverReader | AuthorizerReader], data: bytes) -> int:
    """Reads a stream in pieces of several sizes, which must make no difference. Errors: BadStream."""
    results, error = _read_outcome(make(strict=True), data, 1_000)
    for size in (1, 7):
        assert _read_outcome(make(strict=True), data, size) == (results, error)
    return len(repr(results))


def read_lister(data: bytes) -> int:
    return _read_equally(ListerReader, data)


def read_retriever(data: bytes) -> int:
    return _read_equally(RetrieverReader, data)


def read_authorizer(data: bytes) -> int:
    return _read_equally(AuthorizerReader, data)


TARGETS = (
    Target(
        name="lister",
        run=read_lister,
        seeds=(
            _HEADER + b"id=a\nlast-modified=15\nresult-link=http://e.com/a\nlock\nid-list\nb\nc\n\nid=d\ndelete\n",
            b"GSA Adaptor Data Version 1 [\r\n]\r\nid=a\r\r\nid=b\r\n",
            b"GSA Adaptor Data Version 2 [\xc0\x80]\0id=\xc0\x8a",
        ),
        words=_WORDS,
    ),
    Target(
        name="retriever",
        run=read_retriever,
        seeds=(
            _HEADER + b"id=a\nmime-type=text/plain\nmeta-name=n\nmeta-value=v\nanchor-uri=http://e.com/\nanchor-text=t\nacl\nnamespace=n\n"
            b"acl-permit-user=CORP\\ann\nacl-deny-group=g@d\nacl-inherit-from=f\nacl-inherit-fragment=x\nlock=true\ncontent\nbytes\n",
            _HEADER + b"id=a\nlast-modified=15\nup-to-date\n",
        ),
        words=_WORDS,
    ),
    Target(
        name="authorizer",
        run=read_authorizer,
        seeds=(_HEADER + b"id=a\nauthz-status=PERMIT\nid=b\nauthz-status=DENY\nid=c\nauthz-status=INDETERMINATE\nid=d\n",),
        words=_WORDS,
    ),
)
