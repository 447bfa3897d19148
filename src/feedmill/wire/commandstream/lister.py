"""Reads the output of a lister: documents as they complete.

Rules:

1. The first known command is an id. A document is complete when the next id was read, or at the end of the stream.
2. Arguments of ``crawl-immediately``, ``crawl-once``, ``lock`` and ``delete`` do not count: ``lock=false`` locks.

Source: googlegsa/library, ``CommandStreamParser.readFromLister``.
"""

from collections.abc import Iterator
from typing import Any

from feedmill.model.errors import BadStream
from feedmill.wire.commandstream.commands import (
    CommandReader,
    get_argument,
    invalid_first,
    invalid_operation,
    missing_argument,
    read_last_modified,
)
from feedmill.wire.commandstream.schema import Command, ListedDocument, Operation
from feedmill.wire.commandstream.uris import is_uri
from feedmill.wire.tokens import shorten

_FLAGS = {
    Operation.CRAWL_IMMEDIATELY: "crawl_immediately",
    Operation.CRAWL_ONCE: "crawl_once",
    Operation.LOCK: "lock",
    Operation.DELETE: "delete",
}


class ListerReader(CommandReader):
    """Reads a listing. With ``strict`` it remembers every id, to find repeated ones, so its memory grows with their number.

    Example::

        reader = ListerReader()
        for piece in pieces:
            for document in reader.feed(piece):
                take(document)
    """

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__(strict=strict)
        self._complete: list[ListedDocument] = []
        self._id: str | None = None
        self._fields: dict[str, Any] = {}
        self._ids: set[str] = set()

    def feed(self, data: bytes) -> Iterator[ListedDocument]:
        """Yields the documents that are complete; nothing is read before the first is requested. Errors: BadStream, after them."""
        try:
            self._read_content(data)
        finally:
            yield from self._take_complete()

    def close(self) -> Iterator[ListedDocument]:
        """Ends the stream and yields the last documents. Errors: BadStream, after them."""
        try:
            self._close()
        finally:
            yield from self._take_complete()

    def _take_complete(self) -> list[ListedDocument]:
        complete, self._complete = self._complete, []
        return complete

    def _take_id(self, document_id: str | None) -> None:
        self._complete_document()
        if document_id is None:
            raise missing_argument(Operation.ID)
        self._id = document_id
        if self.is_strict:
            self._check_id(document_id)

    def _take_command(self, command: Command) -> None:
        if self._id is None:
            raise invalid_first("Lister", command)
        operation = command.operation
        if operation in _FLAGS:
            self._ignore_argument(command)
            self._fields[_FLAGS[operation]] = True
        elif operation is Operation.LAST_MODIFIED:
            self._fields["last_modified"] = read_last_modified(command)
        elif operation is Operation.RESULT_LINK:
            self._fields["result_link"] = _read_result_link(command)
        else:
            raise _invalid_operation(command)

    def _end_stream(self) -> None:
        self._complete_document()

    def _complete_document(self) -> None:
        if self._id is not None:
            self._complete.append(ListedDocument(self._id, **self._fields))
        self._id, self._fields = None, {}

    def _check_id(self, document_id: str) -> None:
        if not document_id:
            self._remark("the id is empty")
        if document_id in self._ids:
            self._remark(f"id '{shorten(document_id)}' stands in the stream before")
        self._ids.add(document_id)


def _read_result_link(command: Command) -> str:
    text = get_argument(command)
    if not is_uri(text):
        raise BadStream(f"Lister Error: invalid URL: '{command.operation.name}' with argument: '{shorten(text)}'")
    return text


def _invalid_operation(command: Command) -> BadStream:
    error = invalid_operation("Lister", command)
    # the library's text for listers has one quotation mark more
    return error if command.argument is not None else BadStream(f"{error}'")
