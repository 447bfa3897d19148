"""Reads the output of an authorizer: decisions about documents.

Rules:

1. The first known command is an id. A status belongs to the id before it.
2. An id that stands twice has the decision of its last place, also if there is none there.
3. Of several statuses of one id the last counts. An unknown status leaves the one before.
4. An id without an equals sign is skipped with its status, unless it is the last of the stream: then the stream is refused.

Source: googlegsa/library, ``CommandStreamParser.readFromAuthorizer``.
"""

from feedmill.model.decision import Verdict
from feedmill.wire.commandstream.commands import CommandReader, get_argument, invalid_first, invalid_operation, missing_argument
from feedmill.wire.commandstream.schema import Command, Decisions, Operation
from feedmill.wire.tokens import shorten


class AuthorizerReader(CommandReader):
    """Reads decisions. Memory: grows with the number of ids.

    Example::

        reader = AuthorizerReader()
        reader.feed(b"GSA Adaptor Data Version 1 [\\n]\\nid=a\\nauthz-status=PERMIT\\n")
        decisions = reader.close()
    """

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__(strict=strict)
        self._decisions: Decisions = {}
        self._has_id = False
        self._id: str | None = None
        self._verdict: Verdict | None = None

    def feed(self, data: bytes) -> None:
        """Reads the next bytes. Errors: BadStream."""
        self._read_content(data)

    def close(self) -> Decisions:
        """Ends the stream and returns the decisions, ids in the order of their first place. Errors: BadStream."""
        self._close()
        return self._decisions

    def _take_id(self, document_id: str | None) -> None:
        self._store_decision()
        self._has_id, self._id, self._verdict = True, document_id, None

    def _take_command(self, command: Command) -> None:
        if not self._has_id:
            raise invalid_first("Authorizer", command)
        if command.operation is Operation.AUTHZ_STATUS:
            status = get_argument(command)
            if status in Verdict.__members__:
                self._verdict = Verdict(status)
            else:
                self._remark(f"unknown authz-status '{shorten(status)}' is ignored")
        else:
            raise invalid_operation("Authorizer", command)

    def _end_stream(self) -> None:
        if self._has_id and self._id is None:
            raise missing_argument(Operation.ID)
        self._store_decision()

    def _store_decision(self) -> None:
        """Stores the decision about the current id."""
        document_id = self._id
        if document_id is None:
            if self._has_id:
                self._remark("the id before is skipped, because it has no equals sign")
            return
        if self._verdict is None:
            self._remark(f"there is no decision about id '{shorten(document_id)}'")
        if document_id in self._decisions:
            self._remark(f"id '{shorten(document_id)}' stands in the stream before")
        self._decisions[document_id] = self._verdict
