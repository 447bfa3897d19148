"""The roles of the server, each declared once: its name, what it runs, its sockets, how it is restarted and what wakes it.

A role is a process that the supervisor starts and restarts, or several that do the same. Adding a role is one more constant here, in
``ROLES``, and the function that its entry point names. This module imports none of these functions: ``ProcessRole.load`` does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from socket import socket

from feedmill.model.topic import Topic
from feedmill.runtime.connectionboard import ConnectionBoard, ConnectionCount


class Restart(Enum):
    """How a role is started again with new settings."""

    AFTER_END = "after end"
    """The process ends, and the next one starts. At no time are there two."""
    HANDOVER = "handover"
    """The next process starts beside the previous one and takes over its sockets. The previous one finishes its open requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The listening sockets of a process by the listener's name, and how it takes them over and hands them over."""

    sockets: Mapping[str, socket]
    #: Whether there are earlier processes of the role.
    is_successor: bool = False
    #: Returns once the earlier processes accept no more connections.
    take_over: Callable[[], None] = lambda: None
    #: A descriptor that is readable once this process is to drain. None = only SIGHUP says so.
    drain_reader: int | None = None
    #: To be called when this process accepts no more connections.
    report_drained: Callable[[], None] = lambda: None
    #: The connections of this process, among those of the other processes of the role.
    connections: ConnectionCount = field(default_factory=lambda: ConnectionCount(ConnectionBoard()))


def _title(name: str) -> str:
    return f"feedmill: {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRole:
    """A role of the server. ``web`` may have several processes, each other role has one; during a handover there are twice as many."""

    #: Stands in the process title, the log, the status, the metrics and in names of files.
    name: str
    #: ``MODULE:FUNCTION``. The function takes the ``AppContext`` and ``Ports``, and returns after SIGTERM.
    entry_point: str
    #: The names of the sockets that the role serves.
    listeners: tuple[str, ...] = ()
    restart: Restart = Restart.AFTER_END
    #: The kinds of work for which the role waits. A notification about one of them wakes it.
    topics: tuple[Topic, ...] = ()
    #: The CPU priority, as nice(1) counts.
    niceness: int = 0

    @property
    def title(self) -> str:
        """The title of the process, as ps(1) shows it."""
        return _title(self.name)

    def load(self) -> Callable[..., None]:
        """Imports the module of the entry point, and returns the function."""
        module, _, function = self.entry_point.partition(":")
        entry_point: Callable[..., None] = getattr(import_module(module), function)
        return entry_point


@dataclass(frozen=True, slots=True, kw_only=True)
class HelperProcess:
    """A process that a role starts for itself, for work that may crash. The role restarts it, not the supervisor."""

    name: str
    #: How many of them run at most.
    most: int
    niceness: int = 0

    @property
    def title(self) -> str:
        """The title of the process, as ps(1) shows it."""
        return _title(self.name)


GATE = ProcessRole(
    name="gate", entry_point="feedmill.runtime.servingroles:run_gate", listeners=("gate", "gate_tls", "dtd"), restart=Restart.HANDOVER
)
WEB = ProcessRole(name="web", entry_point="feedmill.runtime.servingroles:run_web", listeners=("search",), restart=Restart.HANDOVER)
ADMIN = ProcessRole(name="admin", entry_point="feedmill.runtime.servingroles:run_admin", listeners=("admin",), restart=Restart.HANDOVER)
FEEDER = ProcessRole(name="feeder", entry_point="feedmill.runtime.workerroles:run_feeder", topics=(Topic.FEEDS,), niceness=5)
QUICK_FEEDER = ProcessRole(
    name="feeder-quick", entry_point="feedmill.runtime.workerroles:run_quick_feeder", topics=(Topic.FEEDS, Topic.SETTINGS)
)
EXTRACTOR = ProcessRole(name="extractor", entry_point="feedmill.runtime.workerroles:run_extractor", topics=(Topic.EXTRACTION,))
INDEXER = ProcessRole(
    name="indexer", entry_point="feedmill.runtime.workerroles:run_indexer", topics=(Topic.INDEXING, Topic.REBUILD, Topic.SETTINGS)
)
PULLER = ProcessRole(name="puller", entry_point="feedmill.runtime.workerroles:run_puller", topics=(Topic.PULLING,), niceness=5)
CRAWLER = ProcessRole(name="crawler", entry_point="feedmill.runtime.workerroles:run_crawler", topics=(Topic.CRAWLING,), niceness=5)
EMBEDDER = ProcessRole(name="embedder", entry_point="feedmill.runtime.workerroles:run_embedder", topics=(Topic.EMBEDDING,), niceness=5)

ROLES = (GATE, WEB, ADMIN, FEEDER, QUICK_FEEDER, EXTRACTOR, INDEXER, PULLER, CRAWLER, EMBEDDER)
"""All roles, in the order in which they start."""

STYLESHEETS = HelperProcess(name="stylesheets", most=4)
INDEX_ENTRIES = HelperProcess(name="index entries", most=1, niceness=5)


def list_subscribers(topic: Topic) -> Iterator[str]:
    """Yields the names of the roles that a notification about a topic wakes."""
    return (role.name for role in ROLES if topic in role.topics)
