"""What the settings say about rendering."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from feedmill.adapters.crawling.options import FetchOptions
from feedmill.core.crawling.hostload import HostLoads

DEFAULT_SECONDS: Final = 20.0
DEFAULT_REQUESTS: Final = 100
DEFAULT_BYTES: Final = 20_000_000
MEMORY_BYTES: Final = 1_500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How pages are rendered.

    ``patterns`` are those of the pages; ``fetching`` says how the crawler fetches, and ``agent`` is its name in robots.txt. ``browser`` is
    a program, "" = the one that is installed. ``find_hour`` returns the hour of the server's day.
    Units: ``seconds`` of one page; ``max_requests`` and ``max_bytes`` of the files of one page; ``memory_bytes`` of one browser;
    ``idle_seconds`` after which a browser without work is ended.
    """

    patterns: tuple[str, ...]
    fetching: FetchOptions
    agent: str = "gsa-crawler"
    loads: HostLoads = field(default_factory=lambda: HostLoads(default=4.0))
    find_hour: Callable[[], int] = lambda: 12
    browser: str = ""
    processes: int = 1
    seconds: float = DEFAULT_SECONDS
    max_requests: int = DEFAULT_REQUESTS
    max_bytes: int = DEFAULT_BYTES
    memory_bytes: int = MEMORY_BYTES
    idle_seconds: float = 30.0
