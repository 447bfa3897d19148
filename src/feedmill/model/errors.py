"""The errors of Feedmill, by what a caller can do about them.

FeedmillError
+-- BadRequest       the caller must send something else
|   +-- BadFeed      the feed's XML is refused; holds line and column
|   +-- BadStream    the output of an adaptor's command is refused; holds byte and command
|   +-- TooLarge     the input exceeds a limit; the text names the limit and its setting
|   +-- BadSettings  the settings file or environment is wrong; holds every error with its line
+-- NotFound         there is no such thing
+-- Conflict         it exists already, or another process holds it
|   +-- VersionConflict    it was changed meanwhile; read it again
+-- Denied           the caller is not permitted to do this
+-- Busy             try again later
|   +-- Unreachable  no server answers at the address; nothing was sent, or no response came
|   +-- OutOfTime    the deadline of the request was reached before there was an answer
|   +-- DiskFull     the disk is full; nothing was lost and nothing was stored
|   +-- Stuck        the queue that the caller waits for does not move; waiting longer has no effect until the cause is removed
|   +-- UpstreamFailure   another server returned no answer, or no usable one
|       +-- Rejected it is available, and refuses this one question
+-- Corrupt          stored data cannot be read back
+-- Broken           this process cannot continue, but a new one can; a loop lets this error end the process
"""

from feedmill.model.messages import Message


class FeedmillError(Exception):
    """The root of every error that Feedmill raises on purpose; the text is lower case, without a full stop."""


def find_message(error: Exception) -> str:
    """Returns the text of an error, which a page can translate if the error was made of a ``Message``."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else str(error)


class BadRequest(FeedmillError):
    """The request cannot be fulfilled as it was made."""


class BadFeed(BadRequest):
    """A feed is refused as a whole.

    Units: line and column count from 1 in the bytes as received; 0 = not known. ``repairable``: the repair pass of the feed's format knows
    this kind of fault.
    """

    def __init__(self, reason: str, *, line: int = 0, column: int = 0, repairable: bool = False) -> None:
        super().__init__(reason)
        self.repairable = repairable
        self.reason = reason
        self.line = line
        self.column = column

    @property
    def placed_reason(self) -> str:
        """The reason with line and column, if both are known, as a feed's log shows it."""
        return f"{self.reason}, line {self.line}, column {self.column}" if self.line and self.column else self.reason


class BadStream(BadRequest):
    """A command stream is refused. What was read before the error stays valid.

    Units: ``offset`` is the byte at which the command starts, ``command`` counts from 1; 0 = the header.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.offset = 0
        self.command = 0


class TooLarge(BadRequest):
    """The input exceeds a limit; the text names the limit and its setting."""


class BadSettings(BadRequest):
    """The settings are wrong. Shape: one text for each error, with file, line and key."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class NotFound(FeedmillError):
    """The requested object does not exist."""


class Conflict(FeedmillError):
    """The thing exists already, or another process holds it."""


class VersionConflict(Conflict):
    """The object has changed since the caller read it."""


class Denied(FeedmillError):
    """The caller is not permitted to do this."""


class Busy(FeedmillError):
    """Not now; the same call may succeed later."""


class Unreachable(Busy):
    """No server answers at the address, or it did not answer in time; the text names the address without secrets."""


class OutOfTime(Busy):
    """The deadline of the request was reached before there was an answer."""


class DiskFull(Busy):
    """The disk is full. The failed call stored nothing."""


class Stuck(Busy):
    """The queue that the caller waits for does not move; the text names the queue, since when, and the reason."""


class UpstreamFailure(Busy):
    """Another server did not answer in time or correctly; the text says why, and contains no secrets."""


class Rejected(UpstreamFailure):
    """Another server answered that it refuses this one question: it is available, and may accept others."""


class Corrupt(FeedmillError):
    """Something that was stored cannot be read back."""


class Broken(FeedmillError):
    """Something that this process holds is unusable; a new process can continue. A retry in this process does not help."""
