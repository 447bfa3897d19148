"""How deep result lists can be read, the same for every engine."""

MAX_REACH = 100_000
"""How deep a result list can be read. An engine holds all hits up to the end of the page in memory."""

MAX_METADATA_REACH = 20_000
"""How deep a list sorted by metadata can be read, below Tantivy's limit of buckets."""

RELEVANT = 1_000
"""How many of the most relevant hits are sorted by date."""
