"""The names of the single values that the services store in the key-value store."""

INDEX_FOLDER = "index.folder"
"""The index folder that is served now, relative to the index root."""

INDEX_TOKEN = "index.token"  # noqa: S105 - a commit's token, no password
"""The token of that folder's newest commit; a searcher that does not see it yet reloads."""

INDEX_COMMITS = "index.generation"
"""The number of commits so far, under its older name. Outside, ``feedmill status`` calls it the generation too."""

INDEX_REBUILD = "index.rebuild"
"""The folder of a requested rebuild, empty if there is none."""

INDEX_PROGRESS = "index.rebuild_progress"
"""The progress of a rebuild: JSON with ``written``, ``total`` and ``remaining_seconds``, empty if there is none."""

INDEX_PARTIAL = "index.partial"
"""Set while the served folder is a new one that does not hold everything yet, because the one before could not be read; else empty."""

# these two values have older names, under which existing stores hold them
ADMISSION_DIGEST = "policy.digest"
"""The digest of the settings against which every document was last checked."""

ADMISSION_CURSOR = "policy.cursor"
"""The progress of the sweep towards a new digest: ``DIGEST:ROUND:ID``."""

POLICIES_SWEPT = "policies.swept"
"""The patterns of policy ACLs with which the classes of all documents were last computed."""

POLICIES_CURSOR = "policies.cursor"
"""The progress of the sweep towards other patterns of policy ACLs: ``DIGEST:ID``."""

POLICIES_CLOSED = "policies.closed"
"""A JSON list of the closed policy ACLs by number, 0 for none.

Their classes may hold documents of another policy until the index has caught up.
"""

SETTINGS_GENERATION = "settings.generation"
"""The number of changes of settings by the API."""

PATTERNS_KNOWN = "patterns.known"
"""The URL patterns that every document was matched against, or will be when it is written next: a JSON list."""

PATTERNS_CURSOR = "patterns.cursor"
"""The progress of the sweep towards other patterns: ``DIGEST:ID``."""

OPEN_CIRCUITS = "authorization.resting"
"""The authorization servers whose circuit is open: a JSON list, empty when there are none."""

SEMANTIC_CIRCUITS = "semantic.circuits"
"""The same of the model of semantic search."""

SIGNIN_KEY = "signin.key"
"""The key that signs cookies and sign-in forms, in hex."""

SAML_KEY = "signin.saml.key"
"""The key and certificate with which this server identifies itself to SAML providers, as PEM."""

HISTORY_SINCE = "history.since"
"""The time since which history is recorded, in ISO 8601; none if it was recorded from the first feed on."""

CRAWL_PAUSED = "crawl.paused"
"""Set while an administrator has paused the crawler; else empty."""

CRAWL_RATE = "crawl.rate"
"""The number of URLs fetched in each minute of the last hour, as ``core.crawling.rate`` writes it."""

CRAWL_REVIEWED = "crawl.reviewed"
"""The digest of the settings against which the URLs of the crawl queue were last checked."""
