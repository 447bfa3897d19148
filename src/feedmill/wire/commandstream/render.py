"""Writes command streams: listings, documents, decisions, and the question to an authorizer.

Rules:

1. NUL and LF in values are written as ``C0 80`` and ``C0 8A``, so neither can delimit them. The question to an authorizer is the exception:
   its commands need not know modified UTF-8, so a value that contains the delimiter is refused, as the library does.
2. What a reader would refuse, change or lose is refused: a lone surrogate, a principal with white space around its name, an ACL without a
   response that sends it.

Source: googlegsa/library, ``CommandStreamParser``, ``CommandLineAdaptor.isUserAuthorized``.
"""

from collections.abc import Iterable, Iterator
from enum import Enum

from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.wire.commandstream.acls import order_principals
from feedmill.wire.commandstream.javavalues import is_in_range, trim
from feedmill.wire.commandstream.retriever import PARAM_PREFIX
from feedmill.wire.commandstream.schema import Decisions, ListedDocument, NamedPrincipal, Operation, RetrievedAcl, RetrievedDocument
from feedmill.wire.commandstream.tokens import FORBIDDEN_IN_DELIMITER, HEADER_PREFIX, MAX_DELIMITER_BYTES, MAX_TOKEN_BYTES
from feedmill.wire.commandstream.uris import is_uri
from feedmill.wire.tokens import shorten


class Delimiter(Enum):
    """The delimiters that no value can contain."""

    NUL = b"\x00"
    LF = b"\n"


def render_listing(documents: Iterable[ListedDocument], delimiter: Delimiter = Delimiter.NUL) -> Iterator[bytes]:
    """Yields the output of a lister, piece by piece. Errors: BadRequest."""
    yield _render_header(delimiter)
    for document in documents:
        writer = _CommandWriter(delimiter)
        writer.add(Operation.ID, document.id)
        _add_last_modified(writer, document.last_modified)
        if document.result_link is not None:
            writer.add_uri(Operation.RESULT_LINK, document.result_link)
        flags = {
            Operation.CRAWL_IMMEDIATELY: document.crawl_immediately,
            Operation.CRAWL_ONCE: document.crawl_once,
            Operation.LOCK: document.lock,
            Operation.DELETE: document.delete,
        }
        for operation, is_set in flags.items():
            if is_set:
                writer.add(operation)
        yield writer.take()


def render_document(document: RetrievedDocument, delimiter: Delimiter = Delimiter.NUL) -> bytes:
    """Returns the output of a retriever, up to the first byte of the content; append the content. Errors: BadRequest."""
    responses = (document.has_content, document.up_to_date, document.not_found)
    if sum(responses) > 1:
        raise BadRequest("only one of content, up-to-date and not-found can be said")
    writer = _CommandWriter(delimiter)
    writer.add(Operation.ID, document.id)
    _add_last_modified(writer, document.last_modified)
    if document.mime_type is not None:
        writer.add(Operation.MIME_TYPE, document.mime_type)
    if document.display_url is not None:
        writer.add_uri(Operation.DISPLAY_URL, document.display_url)
    _add_booleans(writer, document)
    _add_pairs(writer, document)
    if document.acl is not None:
        if not any(responses):
            raise BadRequest("an ACL is sent with content, up-to-date or not-found only")
        _add_acl(writer, document.acl)
    for operation, is_set in zip((Operation.CONTENT, Operation.UP_TO_DATE, Operation.NOT_FOUND), responses, strict=True):
        if is_set:
            writer.add(operation)
    return _render_header(delimiter) + writer.take()


def render_decisions(decisions: Decisions, delimiter: Delimiter = Delimiter.NUL) -> Iterator[bytes]:
    """Yields the output of an authorizer, piece by piece. Errors: BadRequest."""
    yield _render_header(delimiter)
    for document_id, verdict in decisions.items():
        writer = _CommandWriter(delimiter)
        writer.add(Operation.ID, document_id)
        if verdict is not None:
            writer.add(Operation.AUTHZ_STATUS, verdict.value)
        yield writer.take()


def render_question(user: str, password: str | None, groups: Iterable[str], ids: Iterable[str], delimiter: str = "\0") -> bytes:
    """Returns what an authorizer reads from its standard input. Errors: BadRequest, for a value that contains the delimiter.

    The command is ``username``, although the Javadoc says ``user``. Namespaces are not written.
    """
    if not delimiter or FORBIDDEN_IN_DELIMITER.search(delimiter) or len(delimiter.encode(errors="replace")) > MAX_DELIMITER_BYTES:
        raise BadRequest("the delimiter is empty or contains a character that no delimiter may contain")
    said = [("username", user), *((("password", password),) if password is not None else ())]
    said += [("group", group) for group in groups] + [("id", each) for each in ids]
    for name, value in said:
        if delimiter in value:
            raise BadRequest(f"{name} contains the delimiter")
    commands = "".join(f"{name}={value}{delimiter}" for name, value in said)
    return _encode(f"{HEADER_PREFIX} 1 [{delimiter}]{delimiter}{commands}")


class _CommandWriter:
    """Collects commands with their delimiters."""

    def __init__(self, delimiter: Delimiter) -> None:
        self._delimiter = delimiter.value
        self._parts: list[bytes] = []

    def add(self, operation: Operation, argument: str | None = None) -> None:
        token = operation.value.encode()
        if argument is not None:
            token += b"=" + _encode(argument).replace(b"\x00", b"\xc0\x80").replace(b"\n", b"\xc0\x8a")
        if len(token) > MAX_TOKEN_BYTES:
            raise BadRequest(f"'{operation.value}' is longer than {MAX_TOKEN_BYTES} bytes")
        self._parts += [token, self._delimiter]

    def add_uri(self, operation: Operation, uri: str) -> None:
        if not is_uri(uri):
            raise BadRequest(f"'{operation.value}' is no URI: '{shorten(uri)}'")
        self.add(operation, uri)

    def take(self) -> bytes:
        return b"".join(self._parts)


def _render_header(delimiter: Delimiter) -> bytes:
    return f"{HEADER_PREFIX} 1 [".encode() + delimiter.value + b"]" + delimiter.value


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise BadRequest("a value contains half of a character (a lone surrogate)") from exc


def _add_last_modified(writer: _CommandWriter, seconds: int | None) -> None:
    if seconds is None:
        return
    if not is_in_range(seconds):
        raise BadRequest("the milliseconds of a last-modified exceed 64 bits")
    writer.add(Operation.LAST_MODIFIED, str(seconds))


def _add_booleans(writer: _CommandWriter, document: RetrievedDocument) -> None:
    """Adds booleans that differ from what a stream without them means."""
    values = {
        Operation.SECURE: document.secure or None,
        Operation.NO_INDEX: document.no_index or None,
        Operation.NO_FOLLOW: document.no_follow or None,
        Operation.NO_ARCHIVE: document.no_archive or None,
        Operation.CRAWL_ONCE: document.crawl_once,
        Operation.LOCK: document.lock,
    }
    for operation, value in values.items():
        if value is not None:
            writer.add(operation, "true" if value else "false")


def _add_pairs(writer: _CommandWriter, document: RetrievedDocument) -> None:
    for name, value in document.metadata:
        writer.add(Operation.META_NAME, name)
        writer.add(Operation.META_VALUE, value)
    for name, text in document.params:
        if not name.startswith(PARAM_PREFIX):
            raise BadRequest(f"the name of a parameter starts with {PARAM_PREFIX}: '{shorten(name)}'")
        writer.add(Operation.PARAM_NAME, name)
        writer.add(Operation.PARAM_VALUE, text)
    for uri, text in document.anchors:
        writer.add_uri(Operation.ANCHOR_URI, uri)
        writer.add(Operation.ANCHOR_TEXT, text)


def _add_acl(writer: _CommandWriter, acl: RetrievedAcl) -> None:
    if acl.inherit_fragment is not None and acl.inherit_from is None:
        raise BadRequest("the fragment of an ACL needs inherit-from")
    writer.add(Operation.ACL)
    lists = {
        Operation.ACL_PERMIT_USER: acl.permit_users,
        Operation.ACL_DENY_USER: acl.deny_users,
        Operation.ACL_PERMIT_GROUP: acl.permit_groups,
        Operation.ACL_DENY_GROUP: acl.deny_groups,
    }
    namespace = DEFAULT_NAMESPACE
    for operation, principals in lists.items():
        _check_principals(principals, case_sensitive=acl.case_sensitive)
        for principal in principals:
            if principal.namespace != namespace:
                namespace = principal.namespace
                writer.add(Operation.NAMESPACE, namespace)
            writer.add(operation, principal.name)
    if acl.inherit_from is not None:
        writer.add(Operation.ACL_INHERIT_FROM, acl.inherit_from)
    if acl.inherit_fragment is not None:
        writer.add(Operation.ACL_INHERIT_FRAGMENT, acl.inherit_fragment)
    writer.add(Operation.ACL_INHERITANCE_TYPE, acl.inheritance_type.value)
    writer.add(Operation.ACL_CASE_SENSITIVE if acl.case_sensitive else Operation.ACL_CASE_INSENSITIVE)


def _check_principals(principals: tuple[NamedPrincipal, ...], *, case_sensitive: bool) -> None:
    for principal in principals:
        _encode(principal.namespace + principal.name)
        if not principal.name or trim(principal.name) != principal.name:
            raise BadRequest(f"the name of a principal is empty or has white space around it: '{shorten(principal.name)}'")
    if order_principals(principals, case_sensitive=case_sensitive) != principals:
        raise BadRequest("principals are not in the order of the library's sets, or one stands twice")
