"""Turns tokens into commands: lists of ids, unknown commands, an unavailable repository, and the place of everything.

Rules:

1. Empty tokens are skipped, so repeated delimiters count as one. A token is split at its first equals sign, without trimming.
2. After the token ``id-list`` every token is an id, even if it looks like a command, until an empty token or the end of the stream.
3. ``repository-unavailable``, with or without text, ends the reading with an error, except in a list of ids.
4. Unknown commands are skipped.
5. After the command ``content`` and a delimiter, every byte up to the end of the stream is content.

Source: googlegsa/library, ``CommandStreamParser.readCommand``, ``parseNextLine``.
"""

from abc import ABC, abstractmethod

from feedmill.model.errors import BadStream
from feedmill.wire.commandstream.javavalues import parse_boolean, parse_seconds
from feedmill.wire.commandstream.schema import Command, Operation, Remark
from feedmill.wire.commandstream.tokens import MAX_TOKEN_BYTES, Tokenizer, decode
from feedmill.wire.tokens import shorten

MAX_REMARKS = 1_000
_WINDOW_BYTES = 65_536
_OPERATIONS = {operation.value: operation for operation in Operation}


class CommandReader(ABC):
    """Reads a stream in pieces; a subclass takes the commands.

    With ``strict``, ``remarks`` has the first of the things that the library ignores, and ``remark_count`` counts all of them.
    """

    def __init__(self, *, strict: bool) -> None:
        self.remarks: list[Remark] = []
        self.remark_count = 0
        self.is_strict = strict
        self._tokenizer = Tokenizer()
        # the tokens that were read together, their offset in the stream, and the current one of them
        self._tokens: list[bytes] = []
        self._tokens_offset = 0
        self._index = 0
        self._command = 0
        self._is_in_list = False
        self._is_after_list = False
        self._is_content = False

    def _read_content(self, data: bytes) -> bytes:
        """Reads the next bytes and returns those that are content. Errors: BadStream, with its place; nothing can be read after one."""
        if self._is_content:
            return data
        try:
            for at in range(0, len(data), _WINDOW_BYTES):
                content = self._read_tokens(self._tokenizer.feed(data[at : at + _WINDOW_BYTES]))
                if content is not None:
                    self._is_content = True
                    return content + data[at + _WINDOW_BYTES :]
                self._check_size(self._tokenizer.unfinished_bytes)
        except BadStream as exc:
            raise self._place(exc) from exc.__cause__
        return b""

    def _close(self) -> None:
        """Reads the last command. Errors: BadStream, with its place."""
        try:
            if not self._is_content:
                self._read_tokens(self._tokenizer.close())
                self._pass_tokens()
            self._end_stream()
        except BadStream as exc:
            raise self._place(exc) from exc.__cause__

    @abstractmethod
    def _take_id(self, document_id: str | None) -> None:
        """Takes the next id; None without an equals sign. Errors: BadStream."""

    @abstractmethod
    def _take_command(self, command: Command) -> None:
        """Takes the next command that is no id. Errors: BadStream."""

    @abstractmethod
    def _end_stream(self) -> None:
        """Ends the reading; every command was taken. Errors: BadStream."""

    def _remark(self, reason: str) -> None:
        """Adds a remark about the current command."""
        if not self.is_strict:
            return
        self.remark_count += 1
        if len(self.remarks) < MAX_REMARKS:
            self.remarks.append(Remark(reason, self._get_offset(), self._command))

    def _get_offset(self) -> int:
        """Returns the place of the current token. It is seldom needed, so nothing is counted for each token."""
        before = self._tokens[: self._index]
        return self._tokens_offset + sum(map(len, before)) + len(self._tokenizer.delimiter) * len(before)

    def _place(self, error: BadStream) -> BadStream:
        error.offset, error.command = self._get_offset(), self._command
        return error

    def _pass_tokens(self) -> None:
        """Moves the place behind the tokens that were read."""
        self._index = len(self._tokens)
        self._tokens_offset = self._get_offset()
        self._tokens, self._index = [], 0

    def _read_tokens(self, tokens: list[bytes]) -> bytes | None:
        """Takes the commands of tokens. Returns what follows ``content``, which ends the commands; None without it."""
        self._pass_tokens()
        if not self._tokens_offset and self._tokenizer.delimiter:
            self._tokens_offset = self._tokenizer.header_bytes
            self._check_header()
        self._tokens = tokens
        for index, token in enumerate(tokens):
            self._index = index
            if not token:
                self._is_after_list = self._is_after_list or self._is_in_list
                self._is_in_list = False
            elif self._is_in_list:
                self._begin_command(token)
                self._take_id(decode(token))
            elif token == b"id-list":
                self._is_in_list = True
            else:
                self._begin_command(token)
                if self._take_token(decode(token)):
                    return self._tokenizer.take_rest(tokens[index + 1 :])
        return None

    def _begin_command(self, token: bytes) -> None:
        if self._index == 0:
            # a window is smaller than the limit, so only its first token, which began before it, can exceed the limit
            self._check_size(len(token))
        self._command += 1
        if self.is_strict:
            self._check_token(token)

    def _check_size(self, size: int) -> None:
        if size > MAX_TOKEN_BYTES:
            self._pass_tokens()
            self._command += 1
            raise BadStream(f"a command is longer than {MAX_TOKEN_BYTES} bytes")

    def _take_token(self, text: str) -> bool:
        """Takes the command of a token outside a list of ids; returns whether it is ``content``."""
        name, equals, given = text.partition("=")
        argument = given if equals else None
        if name == "id":
            self._is_after_list = False
            self._take_id(argument)
            return False
        if name == "repository-unavailable":
            raise BadStream(f"Error: repository unavailable. {given}")
        operation = _OPERATIONS.get(name)
        if operation is None:
            self._remark(f"unknown command '{shorten(name)}' is ignored")
            return False
        if self._is_after_list:
            self._is_after_list = False
            self._remark(f"'{name}' after a list of ids applies to the last id of the list")
        self._take_command(Command(operation, argument))
        return operation is Operation.CONTENT

    def _check_header(self) -> None:
        if self._tokenizer.version != 1:
            self._remark(f"version {self._tokenizer.version} is read as version 1")
        elif not self._tokenizer.is_header_plain:
            self._remark("the version stands between other characters than one space on either side")

    def _check_token(self, token: bytes) -> None:
        if self._get_offset() == self._tokenizer.header_bytes:
            self._remark("no delimiter follows the header")
        if self._tokenizer.delimiter in token:
            self._remark("a delimiter is missed, because the bytes before it are the start of one")
        if self._is_in_list and token.partition(b"=")[0].decode(errors="replace") in _OPERATIONS:
            self._remark("a command in a list of ids is an id")

    def _take_boolean(self, command: Command) -> bool:
        """Returns the boolean of a retriever's command; texts other than ``true`` and ``false`` are false."""
        text = command.argument
        if text is None or text.lower() not in ("true", "false"):
            self._remark(f"{_describe(command)} is read as false")
        return parse_boolean(text)

    def _ignore_argument(self, command: Command) -> None:
        """Adds a remark about a command that takes no argument, if it has one."""
        if command.argument is not None:
            self._remark(f"the argument of {_describe(command)} is ignored")


def get_argument(command: Command) -> str:
    """Returns the argument of a command that must have one. Errors: BadStream."""
    if command.argument is None:
        raise missing_argument(command.operation)
    return command.argument


def missing_argument(operation: Operation) -> BadStream:
    """Returns the error of a command without its argument, for which the library has no text."""
    return BadStream(f"'{operation.value}' has no argument")


def read_last_modified(command: Command) -> int:
    """Returns the seconds since 1970. Errors: BadStream."""
    text = get_argument(command)
    seconds = parse_seconds(text)
    if seconds is None:
        raise BadStream(f"last-modified is no number of seconds, or its milliseconds exceed 64 bits: '{shorten(text)}'")
    return seconds


def _describe(command: Command) -> str:
    return f"'{command.operation.value}'" if command.argument is None else f"'{command.operation.value}={shorten(command.argument)}'"


def invalid_first(kind: str, command: Command) -> BadStream:
    """Returns the error of a stream that does not begin with an id."""
    return BadStream(f"{kind} Error: the first operator must be a document ID.  Instead encountered '{command.operation.name}'.")


def invalid_operation(kind: str, command: Command) -> BadStream:
    """Returns the error of a command that another kind of stream has."""
    argument = "" if command.argument is None else f"' with argument: '{shorten(command.argument)}"
    return BadStream(f"{kind} Error: invalid operation: '{command.operation.name}{argument}'")
