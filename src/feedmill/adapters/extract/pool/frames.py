"""The messages between the pool and its workers.

A task is sent to a worker in ``marshal``, the fastest format, since both ends are this program. An answer comes from a process that has
read hostile input: its lengths are checked before anything is read, and every field's type before it is used. Its body is the text, the
links, the headings and the structure in their stored form. The pool does not read the body; its readers must expect anything.

task     ::= length (8 bytes, little endian) marshalled tuple
answer   ::= header length (4 bytes) body length (4 bytes) header (JSON array) body (core.text.textblob)
retiring ::= an answer whose two lengths are zero: the worker ends, and its remaining tasks go to another worker
"""

import json
import marshal
import struct
from typing import Any, BinaryIO

from feedmill.core.text.textblob import encode_text
from feedmill.model.document import Attachment, Metadata
from feedmill.model.extraction import Answer, Extraction, ExtractionLimits, Task

_TASK = struct.Struct("<Q")
_ANSWER = struct.Struct("<II")
RETIRING = _ANSWER.pack(0, 0)
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


class BadFrame(Exception):
    """A worker sent something that is no valid answer."""


def pack_task(task: Task) -> bytes:
    """Returns the message that sends a task to a worker."""
    # Both ends are the same program with the same interpreter, so a format that other versions cannot read does no harm.
    attachments = tuple((each.start, each.size_bytes, each.mimetype, each.name) for each in task.attachments)
    body = marshal.dumps((task.key, task.url, task.mimetype, task.data, task.path, task.charset, task.text_bytes, attachments))
    return _TASK.pack(len(body)) + body


def read_task(stream: BinaryIO) -> Task | None:
    """Reads the next task, None at the end of the pipe."""
    head = stream.read(_TASK.size)
    if len(head) < _TASK.size:
        return None
    size = _TASK.unpack(head)[0]
    body = stream.read(size)
    if len(body) < size:
        return None
    # written by the pool, never by a document
    key, url, mimetype, data, path, charset, text_bytes, attachments = marshal.loads(body)  # noqa: S302
    return Task(
        key=key,
        url=url,
        mimetype=mimetype,
        data=data,
        path=path,
        charset=charset,
        text_bytes=text_bytes,
        attachments=tuple(Attachment(start=start, size_bytes=size, mimetype=kind, name=name) for start, size, kind, name in attachments),
    )


def pack_answer(answer: Extraction) -> bytes:
    """Returns the message that carries an answer; lone surrogates are dropped."""
    fields = (answer.mimetype, answer.title, answer.language, answer.metadata, sorted(answer.robots), answer.reason)
    header = _encode((answer.key, *fields)).encode("utf-8", "ignore")
    holds_text = answer.text or answer.links or answer.navigation
    body = encode_text(answer.text, answer.links, answer.headings, answer.navigation, answer.structure) if holds_text else b""
    return _ANSWER.pack(len(header), len(body)) + header + body


def max_answer_bytes(limits: ExtractionLimits) -> int:
    """Returns the size that no honest answer exceeds."""
    return limits.text_characters * 4 + limits.links * 30_000 + limits.metadata * 30_000 + 1_000_000


class AnswerReader:
    """Parses the bytes of one worker's pipe. Errors: BadFrame, after which nothing from this worker can be trusted."""

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> list[Answer | None]:
        """Reads bytes and returns the answers that are complete now. None stands for a worker's notice that it retires."""
        self._buffer += data
        answers: list[Answer | None] = []
        position = 0
        # Slices of the view copy nothing. It is released before the buffer shrinks, because a buffer with a view cannot.
        with memoryview(self._buffer) as view:
            while len(view) - position >= _ANSWER.size:
                header, body = _ANSWER.unpack_from(view, position)
                end = position + _ANSWER.size + header + body
                # Checked before the bytes arrive: a length that a hostile document caused must not make the buffer grow.
                if header + body > self._limit:
                    raise BadFrame("the answer is larger than is allowed")
                if end > len(view):
                    break
                start = position + _ANSWER.size
                answers.append(_unpack(bytes(view[start : start + header]), bytes(view[start + header : end])) if header else None)
                position = end
        del self._buffer[:position]
        return answers


def _unpack(header: bytes, body: bytes) -> Answer:
    try:
        fields = json.loads(header)
        key, mimetype, title, language, metadata, robots, reason = fields
        return Answer(
            key=_typed(key, int),
            mimetype=_typed(mimetype, str),
            title=_optional(title),
            body=body,
            language=_optional(language),
            metadata=_pairs(metadata),
            robots=frozenset(_typed(word, str) for word in _typed(robots, list)),
            reason=_optional(reason),
        )
    except (ValueError, TypeError, RecursionError) as exc:
        raise BadFrame("the answer cannot be read") from exc


def _typed(value: Any, kind: type) -> Any:
    # Not ``isinstance``: True would pass as a number.
    if type(value) is not kind:
        raise TypeError(kind)
    return value


def _optional(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise TypeError(str)
    return value


def _pairs(value: Any) -> Metadata:
    pairs = []
    for first, second in _typed(value, list):
        if type(first) is not str or type(second) is not str:
            raise TypeError(str)
        pairs.append((first, second))
    return tuple(pairs)
