"""``POST /xmlfeed`` and ``POST /xmlgroups``: receives a feed.

1. A body is refused before it is read if its length exceeds the limit.
2. The body is read as it arrives. The feed's bytes go to the receiver, short fields to memory. If the token is valid for some data sources
   only, reading stops at a field that names another data source, and the feed is refused.
3. The fields are validated and the feed is stored durably. Only then ``Success`` is sent.

A request that fails at any step stores nothing. docs/reference/feed-port.md lists the responses to each failure.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from feedmill.core.documents.submission import SOURCE_FIELDS, Submission, read_groups_submission, read_submission
from feedmill.http.common.answers import DISK_FULL, STRANGERS, SUCCESS, TRUSTED, UNAUTHORIZED, Body, drop, send_early, send_text
from feedmill.http.feeds.feedreceiving import FeedReceiver
from feedmill.http.feeds.gateconfig import CurrentConfig, GateConfig
from feedmill.http.feeds.pushtoken import find_right
from feedmill.http.signin.requestauthenticator import BASIC_CHALLENGE
from feedmill.model.errors import BadRequest, Denied, DiskFull, FeedmillError, TooLarge
from feedmill.services.feeds.intake import Intake
from feedmill.services.signin.pushcheck import PushRight
from feedmill.wire.registry import GSAFEED, GSAGROUPS
from feedmill.wire.upload.form import BodyReader
from feedmill.wire.upload.reader import FEED_FORM, GROUPS_FORM, Form, UploadReader, explain_limit, is_surely_too_large

CountFeed = Callable[[str, int], None]
"""Counts a stored feed: its kind and its size in bytes."""

FEED_HEADER: Final = b"x-feedmill-feed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRules:
    """The rules of one path: its form, the format of the feed, and the meaning of the short fields with or without a feed."""

    form: Form
    format: str
    read: Callable[[Mapping[str, str], bool], Submission]


DOCUMENTS: Final = PushRules(form=FEED_FORM, format=GSAFEED, read=lambda values, _has_data: read_submission(values))
GROUPS: Final = PushRules(
    form=GROUPS_FORM, format=GSAGROUPS, read=lambda values, has_data: read_groups_submission(values, has_data=has_data)
)

_LAG: Final = 0.02
"""The share of the idle time by which a deadline may lag before it is moved; moving it at every piece would cost more than reading one."""

log = structlog.get_logger(__name__)


class ClientDisconnected(Exception):
    """The client disconnected, or sent nothing for too long, within a body."""


class PushEndpoint:
    """The ASGI application that receives a feed."""

    def __init__(
        self, *, config: CurrentConfig, intake: Intake, workers: Executor, count_feed: CountFeed, rules: PushRules = DOCUMENTS
    ) -> None:
        self._rules = rules
        self._config = config
        self._intake = intake
        self._workers = workers
        self._count_feed = count_feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope["client"][0] if scope.get("client") else ""
        body = Body(receive)
        try:
            feed_id, submission, size_bytes = await self._receive(scope, body, client)
        except Denied as exc:
            log.warning("feed_refused", client=client, token=find_right(scope).label, reason=str(exc))
            await send_early(body, send, 401, UNAUTHORIZED, STRANGERS, headers=((b"www-authenticate", BASIC_CHALLENGE.encode("ascii")),))
        except TooLarge as exc:
            await send_early(body, send, 413, str(exc), TRUSTED)
        except BadRequest as exc:
            await send_early(body, send, 400, str(exc), TRUSTED)
        except DiskFull as exc:
            log.error("feed_not_taken", client=client, answered="disk full", reason=str(exc))
            await send_early(body, send, 200, DISK_FULL, TRUSTED)
        except FeedmillError as exc:
            log.error("feed_not_taken", client=client, answered="nothing", reason=str(exc))
            await drop(scope, body, send)
        except ClientDisconnected as exc:
            log.warning("feed_not_taken", client=client, answered="nothing", reason=str(exc))
            await drop(scope, body, send)
        else:
            self._count_feed(submission.kind.value, size_bytes)
            await send_text(send, 200, SUCCESS, ((FEED_HEADER, str(feed_id).encode("ascii")),))

    async def _receive(self, scope: Scope, body: Body, client: str) -> tuple[int, Submission, int]:
        config, right = self._config(), find_right(scope)
        reader = open_reader(self._rules.form, Headers(scope=scope), config)
        async with FeedReceiver(self._intake, self._workers) as receiver:
            await read_body(body, reader, receiver, config.idle_seconds, right)
            submission = replace(self._rules.read(reader.values, reader.size_bytes > 0), format=self._rules.format)
            if not right.allows(submission.datasource):
                raise explain_right(submission.datasource)
            if submission.kind.command is not None:
                return await receiver.store_bare_feed(submission, client), submission, 0
            if reader.size_bytes == 0:
                raise BadRequest("field data is missing or empty; give the feed's XML")
            return await receiver.store_feed(submission, client), submission, reader.size_bytes


def open_reader(form: Form, headers: Headers, config: GateConfig, read: BodyReader | None = None) -> UploadReader:
    """Returns a reader for the body of a request; ``read`` reads a body that is no form. Errors: TooLarge, by its headers alone."""
    content_type, coding = headers.get("content-type", ""), headers.get("content-encoding", "")
    length = headers.get("content-length", "")
    bare = read is not None
    if length.isdecimal() and is_surely_too_large(int(length), content_type, coding, config.max_feed_bytes, is_bare=bare):
        raise TooLarge(explain_limit(config.max_feed_bytes))
    limits = {"max_feed_bytes": config.max_feed_bytes, "max_inflation": config.max_inflation}
    return UploadReader(form, content_type=content_type, content_encoding=coding, body=read, **limits)


async def read_body(body: Body, reader: UploadReader, receiver: FeedReceiver, idle_seconds: float, right: PushRight) -> None:
    """Reads a body to its end, or to a field that names a source outside the token's right.

    Errors: BadRequest, Denied, TooLarge, DiskFull, Busy, ClientDisconnected.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(idle_seconds) as deadline:
            while not body.is_whole:
                message = await body()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnected("the connection was closed in the middle of the body")
                for piece in reader.read_chunk(message.get("body", b"")):
                    _check_right(reader, right)
                    await receiver.add(piece)
                # Once more, because the bytes that end a short field may hold no piece of the feed.
                _check_right(reader, right)
                ahead = loop.time() + idle_seconds
                if ahead - (deadline.when() or 0.0) > _LAG * idle_seconds:
                    deadline.reschedule(ahead)
    except TimeoutError as exc:
        raise ClientDisconnected(f"nothing came for {idle_seconds:g} seconds") from exc
    for piece in reader.finish():
        _check_right(reader, right)
        await receiver.add(piece)


def _check_right(reader: UploadReader, right: PushRight) -> None:
    """Refuses a feed as soon as a field names a source outside its token's right. Errors: Denied."""
    if right.is_limited:
        for field in SOURCE_FIELDS:
            name = reader.values.get(field, "").strip()
            if name and not right.allows(name):
                raise explain_right(name)


def explain_right(name: str) -> Denied:
    """Returns the error for a data source that the token of a request does not permit."""
    return Denied(f"the token is not for the source {name[:80]!a}")
