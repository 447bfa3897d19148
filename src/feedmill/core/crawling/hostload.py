"""Decides how many requests a server gets at once, and how long the crawler pauses between them.

The first exception that names the host, and whose hours include the present one, holds; else the default. A load of 1 or more is that many
requests at once, rounded down. Below 1 it is one request, then a pause of 1/load seconds. The default 0 means no bound; 0 in an exception
means that nothing is fetched in these hours. The crawl delay of robots.txt means one request at a time, also without a bound.
Source: specifications of the appliance, "Host Load Schedule"; interfaces of the settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

UNBOUNDED: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadException:
    """Another load for a host (``*``: all), from one hour of the day to before another. Over midnight, the end is the lower number."""

    host: str
    start_hour: int
    end_hour: int
    load: float

    def holds(self, host: str, hour: int) -> bool:
        """Returns whether it holds for a host, with or without its port, in an hour."""
        if self.host not in ("*", host, host.rpartition(":")[0]):
            return False
        if self.start_hour < self.end_hour:
            return self.start_hour <= hour < self.end_hour
        # over midnight, such as 22 to 6; equal hours are the whole day
        return hour >= self.start_hour or hour < self.end_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoad:
    """How many requests a site gets at once (0 = none now), and the pause after each of them in seconds."""

    at_once: int
    pause_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoads:
    """The settings of the host load."""

    default: float
    exceptions: Sequence[LoadException] = ()

    def find(self, site: str, hour: int, *, delay_seconds: float = 0.0) -> HostLoad:
        """Returns the load of a site. Units: ``hour`` of the server's day; ``delay_seconds`` is the crawl delay of its robots.txt."""
        host = site.partition("://")[2]
        exception = next((each for each in self.exceptions if each.holds(host, hour)), None)
        load = self.default if exception is None else exception.load
        if exception is not None and load <= 0:
            return HostLoad(at_once=0)
        pause = max(delay_seconds, 1 / load if 0 < load < 1 else 0.0)
        if pause > 0:
            return HostLoad(at_once=1, pause_seconds=pause)
        return HostLoad(at_once=int(load) if load >= 1 else UNBOUNDED)
