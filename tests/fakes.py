"""Stand-ins for a clock and a notifier."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from feedmill.model.topic import Topic


@dataclass(slots=True)
class ManualClock:
    """A clock that a test turns."""

    now: datetime = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

    def turn(self, **given: float) -> None:
        self.now += timedelta(**given)


class SilentNotifier:
    """Wakes no process and never waits."""

    def __init__(self) -> None:
        self.notified: list[Topic] = []

    def notify(self, topic: Topic) -> None:
        self.notified.append(topic)

    def wait(self, timeout_seconds: float) -> None:
        assert timeout_seconds > 0
