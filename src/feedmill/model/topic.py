"""Topics: the kinds of work that processes wait for."""

from enum import Enum


class Topic(Enum):
    """A kind of work. A notification about it wakes the roles that subscribe to it."""

    FEEDS = "feeds"
    """A feed was received."""
    EXTRACTION = "extraction"
    """Documents wait for their text to be extracted."""
    INDEXING = "indexing"
    """Documents wait to be written to the index."""
    EMBEDDING = "embedding"
    """Documents wait to be embedded."""
    CRAWLING = "crawling"
    """URLs wait to be crawled."""
    PULLING = "pulling"
    """A run of a pull source was requested."""
    REBUILD = "rebuild"
    """A new index was requested."""
    SETTINGS = "settings"
    """Stored settings were changed."""
