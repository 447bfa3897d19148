"""The errors of the client, by what a program can do about them.

FeedmillError
+-- BadRequest       the program must send something else
|   +-- TooLarge     the request exceeds a limit of the server
|   +-- BadAnswer    what answers is no Feedmill server, or one of another kind: give another address
+-- NotFound         there is no such thing, or the user may not see it
+-- Conflict         it exists already, or it is requested already
|   +-- Overtaken    it was changed meanwhile; read it again
+-- Denied           the user is unknown, or is not permitted to do this
+-- ServerFault      the server has failed; its administrator finds the cause in its log
+-- Busy             try again later
    +-- Unreachable  no server answers at the address, or it did not answer in time
    +-- DiskFull     the disk of the server is full; nothing was stored
    +-- Stuck        the queue that a feed waits in does not move
    +-- NotDone      the time to wait is over, and what was waited for goes on

Example::

    from feedmill_client import Client, Denied, Unreachable

    try:
        Client(search="http://127.0.0.1:8080").search("words")
    except Unreachable as error:
        print(error)
    except Denied as error:
        print(error.status, error.problem and error.problem.type)
"""

from feedmill_client.answers import Problem


class FeedmillError(Exception):
    """The root of every error that the client raises on purpose. Its text says what is wrong and where.

    Where a response said so, ``status`` is its status, ``problem`` what its body says in the shape of RFC 9457, ``request_id`` its
    ``X-Request-Id``, by which the log of the server has more, and ``retry_after_seconds`` how long the server asks to wait; otherwise they
    are None.
    """

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        problem: Problem | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.problem = problem
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds


class BadRequest(FeedmillError):
    """The request cannot be fulfilled as it was made."""


class TooLarge(BadRequest):
    """The request exceeds a limit of the server."""


class BadAnswer(BadRequest):
    """The answer is not one that this client understands: no JSON, another shape, too many bytes, a redirect."""


class NotFound(FeedmillError):
    """The requested object does not exist, or the user may not see it."""


class Conflict(FeedmillError):
    """The thing exists already, or is requested already."""


class Overtaken(Conflict):
    """The object has changed since the program read it."""


class Denied(FeedmillError):
    """The user is unknown, or is not permitted to do this."""


class ServerFault(FeedmillError):
    """The server has failed at this request."""


class Busy(FeedmillError):
    """Not now; the same call may succeed later."""


class Unreachable(Busy):
    """No server answers at the address, or it did not answer in time; the text names the address without secrets.

    ``was_sent`` is false where nothing was sent, so that the request had no effect. ``is_permanent`` is true where trying again is of no
    use, such as for a certificate that is not trusted.
    """

    def __init__(self, text: str, *, was_sent: bool = True, is_permanent: bool = False) -> None:
        super().__init__(text)
        self.was_sent = was_sent
        self.is_permanent = is_permanent


class DiskFull(Busy):
    """The disk of the server is full, and it stored nothing."""


class Stuck(Busy):
    """The queue that a feed waits in does not move; the text names the queue, since when, and the reason."""


class NotDone(Busy):
    """The time to wait is over. What was waited for goes on."""
