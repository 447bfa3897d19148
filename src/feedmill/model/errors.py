"""What can go wrong, by what a caller can do about it.

FeedmillError
+-- BadRequest       the asker must send something else
|   +-- BadFeed      the feed's XML is refused; holds line and column
|   +-- TooLarge     what was sent is beyond a limit; the text names the limit and its setting
|   +-- BadSettings  the settings file or environment is wrong; holds every fault with its line
+-- NotFound         there is no such thing
+-- Conflict         it is there already, or somebody else holds it
|   +-- Overtaken    somebody else changed it meanwhile; read it again
+-- Denied           the asker may not
+-- Busy             try again later
|   +-- OutOfTime    the deadline of the request was reached before there was an answer
|   +-- DiskFull     no room on the disk; nothing was lost, nothing was taken
|   +-- Stuck        nothing moves in the queue that somebody waits for; waiting on is in vain until somebody has looked
|   +-- Unanswered   another server gave no answer, or none that can be used
|       +-- Rejected it is there, and does not take this one question
+-- Corrupt          what was kept cannot be read back
+-- Broken           this process can do it no more, a new one can; whoever works in a loop lets it end the process
"""


class FeedmillError(Exception):
    """The root of every error that Feedmill raises on purpose; the text is lower case, without a full stop."""


class BadRequest(FeedmillError):
    """What was asked cannot be done as it was asked."""


class BadFeed(BadRequest):
    """A feed is refused as a whole.

    Units: line and column count from 1 in the bytes as received; 0 = not known.
    """

    def __init__(self, reason: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column

    @property
    def placed_reason(self) -> str:
        """The reason with line and column, where both are known: what a feed's log says."""
        return f"{self.reason}, line {self.line}, column {self.column}" if self.line and self.column else self.reason


class TooLarge(BadRequest):
    """What was sent is beyond a limit; the text names the limit and the setting that moves it."""


class BadSettings(BadRequest):
    """The settings are wrong. Shape: one text a fault, each naming file, line and key."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class NotFound(FeedmillError):
    """There is no such thing."""


class Conflict(FeedmillError):
    """The thing exists already, or another process holds it."""


class Overtaken(Conflict):
    """The thing is not any more what the asker went by."""


class Denied(FeedmillError):
    """The asker may not do this."""


class Busy(FeedmillError):
    """Not now; the same call may succeed later."""


class OutOfTime(Busy):
    """The deadline of the request was reached before there was an answer."""


class DiskFull(Busy):
    """No room on the disk. Nothing was kept of the call that failed."""


class Stuck(Busy):
    """Nothing moves in the queue that the asker waits for; the text names the queue, since when, and the reason."""


class Unanswered(Busy):
    """Another server did not answer in time, or not as it should; the text says why, and holds nothing that is secret."""


class Rejected(Unanswered):
    """Another server answered that it does not take this one question: it is there, and may take others."""


class Corrupt(FeedmillError):
    """Something that was stored cannot be read back."""


class Broken(FeedmillError):
    """Something that this process holds is of no more use; a new process can go on. Trying again here is no way out."""
