"""Reads the output of a retriever: one document, and its content as it arrives.

Rules:

1. The first known command is the id, and there is one. It must be the requested id.
2. ``meta-name``, ``param-name`` and ``anchor-uri`` must be followed by their partner; unknown commands between them do not count.
3. After ``up-to-date`` or ``not-found`` the document is settled, and every command that would change it is refused. Lines of an ACL have
   no effect then.
4. The document has an ACL if there was ``acl`` when ``content``, ``up-to-date`` or ``not-found`` is read. Lines of the ACL (``acls``) may
   stand before ``acl``.
5. A boolean is true if its argument is ``true`` in any letter case: ``lock`` without an argument is false.
6. Of several commands with one value the last counts.

Source: googlegsa/library, ``CommandStreamParser.readFromRetriever``, ``DocumentHandler.DocumentResponse``.
"""

from typing import Any

from feedmill.model.errors import BadStream
from feedmill.wire.commandstream import acls
from feedmill.wire.commandstream.commands import (
    CommandReader,
    get_argument,
    invalid_first,
    invalid_operation,
    missing_argument,
    read_last_modified,
)
from feedmill.wire.commandstream.schema import Command, Operation, RetrievedAcl, RetrievedDocument
from feedmill.wire.commandstream.uris import is_uri
from feedmill.wire.tokens import shorten

MAX_HEAD_CHARACTERS = 64_000_000
PARAM_PREFIX = "X-"

_BOOLEANS = {
    Operation.SECURE: "secure",
    Operation.NO_INDEX: "no_index",
    Operation.NO_FOLLOW: "no_follow",
    Operation.NO_ARCHIVE: "no_archive",
    Operation.CRAWL_ONCE: "crawl_once",
    Operation.LOCK: "lock",
}
_PARTNERS = {
    Operation.META_NAME: Operation.META_VALUE,
    Operation.PARAM_NAME: Operation.PARAM_VALUE,
    Operation.ANCHOR_URI: Operation.ANCHOR_TEXT,
}
_RESPONSES = {
    Operation.CONTENT: "has_content",
    Operation.UP_TO_DATE: "up_to_date",
    Operation.NOT_FOUND: "not_found",
}


class RetrieverReader(CommandReader):
    """Reads a document. ``document`` is complete when the first bytes of its content arrive, otherwise after ``close``.

    Shape: ``requested_id`` None accepts every id. Memory: all but the content, at most ``MAX_HEAD_CHARACTERS``.

    Example::

        reader = RetrieverReader("a")
        content = reader.feed(b"GSA Adaptor Data Version 1 [\\n]\\nid=a\\ncontent\\nbytes")
        document = reader.close()
    """

    def __init__(self, requested_id: str | None = None, *, strict: bool = False) -> None:
        super().__init__(strict=strict)
        self.document: RetrievedDocument | None = None
        self._requested_id = requested_id
        self._id: str | None = None
        self._first: Command | None = None
        self._head_characters = 0
        self._response: Operation | None = None
        self._acl_lines = acls.AclLines()
        self._acl: RetrievedAcl | None = None
        self._fields: dict[str, Any] = {}
        self._metadata: list[tuple[str, str]] = []
        self._params: list[tuple[str, str | None]] = []
        self._anchors: list[tuple[str, str | None]] = []

    def feed(self, data: bytes) -> bytes:
        """Reads the next bytes and returns those that are content. Errors: BadStream."""
        return self._read_content(data)

    def close(self) -> RetrievedDocument:
        """Ends the stream and returns the document. Errors: BadStream."""
        self._close()
        if self.document is None:
            self.document = self._build_document()
        return self.document

    def _take_id(self, document_id: str | None) -> None:
        if self._first is not None:
            raise _missing_partner(self._first)
        if self._id is not None:
            raise BadStream("Only one document ID can be specified in a retriever message")
        if document_id is None:
            raise missing_argument(Operation.ID)
        if self._requested_id is not None and document_id != self._requested_id:
            raise BadStream(
                f"requested document DocId({shorten(self._requested_id)}) does not match retrieved document DocId({shorten(document_id)})."
            )
        self._id = document_id

    def _take_command(self, command: Command) -> None:
        self._head_characters += len(command.argument or "")
        if self._head_characters > MAX_HEAD_CHARACTERS:
            raise BadStream(f"the commands before the content are longer than {MAX_HEAD_CHARACTERS} characters")
        operation = command.operation
        if self._id is None:
            raise invalid_first("Retriever", command)
        if self._first is not None:
            self._take_pair(self._first, command)
            self._first = None
        elif operation in _PARTNERS:
            self._check_name(command)
            self._first = command
        elif operation in _RESPONSES:
            self._respond(command)
        elif operation in acls.OPERATIONS:
            self._take_acl_line(command)
        else:
            self._set_field(command)

    def _end_stream(self) -> None:
        if self._id is None:
            raise BadStream("Invalid or missing retriever data.")
        if self._first is not None:
            raise _missing_partner(self._first)
        if self._response is None:
            self._remark("there is no content, up-to-date or not-found, so the library answers nothing")

    def _build_document(self) -> RetrievedDocument:
        return RetrievedDocument(
            id=self._id or "",
            metadata=tuple(self._metadata),
            params=tuple(self._params),
            anchors=tuple(self._anchors),
            acl=self._acl,
            **self._fields,
        )

    def _check_name(self, command: Command) -> None:
        """Checks the first command of a pair as far as the library does before it reads the second."""
        if command.operation is Operation.ANCHOR_URI:
            _read_uri(command)

    def _take_pair(self, first: Command, second: Command) -> None:
        if second.operation is not _PARTNERS[first.operation]:
            raise _missing_partner(first)
        self._check_unsettled()
        name = get_argument(first)
        if first.operation is Operation.META_NAME:
            self._metadata.append((name, get_argument(second)))
        elif first.operation is Operation.PARAM_NAME:
            if not name.startswith(PARAM_PREFIX):
                raise BadStream("The param key must start with 'X-'")
            self._params.append((name, second.argument))
        else:
            self._anchors.append((name, second.argument))

    def _respond(self, command: Command) -> None:
        if self._response is not None:
            raise BadStream(f"Already responded: '{command.operation.value}' after '{self._response.value}'")
        self._ignore_argument(command)
        if self._acl_lines.is_sent:
            self._acl = self._acl_lines.build_acl()
        elif self._acl_lines.has_lines:
            self._remark("the lines of an ACL are ignored, because 'acl' is missing")
        self._response = command.operation
        self._fields[_RESPONSES[command.operation]] = True
        if command.operation is Operation.CONTENT:
            self.document = self._build_document()

    def _take_acl_line(self, command: Command) -> None:
        self._acl_lines.add_command(command)
        if self._response is not None:
            self._remark(f"'{command.operation.value}' after '{self._response.value}' has no effect")
        elif command.operation in acls.FLAGS:
            self._ignore_argument(command)

    def _set_field(self, command: Command) -> None:
        """Sets a field with one value."""
        operation = command.operation
        value: str | int | bool | None
        if operation in _BOOLEANS:
            name, value = _BOOLEANS[operation], self._take_boolean(command)
        elif operation is Operation.LAST_MODIFIED:
            name, value = "last_modified", read_last_modified(command)
        elif operation is Operation.DISPLAY_URL:
            name, value = "display_url", _read_uri(command)
        elif operation is Operation.MIME_TYPE:
            name, value = "mime_type", command.argument
        else:
            raise invalid_operation("Retriever", command)
        self._check_unsettled()
        if name in self._fields:
            self._remark(f"'{operation.value}' replaces the one before")
        self._fields[name] = value

    def _check_unsettled(self) -> None:
        if self._response is not None:
            raise BadStream(f"Already responded: a command after '{self._response.value}' changes the document")


def _read_uri(command: Command) -> str:
    text = get_argument(command)
    if not is_uri(text):
        raise BadStream(f"'{command.operation.value}' is no URI: '{shorten(text)}'")
    return text


def _missing_partner(first: Command) -> BadStream:
    return BadStream(f"{first.operation.value} must be immediately followed by {_PARTNERS[first.operation].value}")
