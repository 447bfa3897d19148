"""The names of the single values that the services keep in the store."""

INDEX_FOLDER = "index.folder"
"""The index folder that is served now, relative to the index root."""

INDEX_TOKEN = "index.token"  # noqa: S105 - a commit's token, no password
"""The token of that folder's newest commit; a searcher that does not see it yet reloads."""

INDEX_GENERATION = "index.generation"
"""How many commits there have been."""

INDEX_REBUILD = "index.rebuild"
"""The folder that a rebuild was asked for, empty when none is."""

INDEX_PROGRESS = "index.rebuild_progress"
"""How far a rebuild is: JSON with ``written``, ``total`` and ``remaining_seconds``, empty when there is none."""

INDEX_PARTIAL = "index.partial"
"""Set while the served folder is a new one that does not hold everything yet, because the one before could not be read; else empty."""

# the two keep the names that stores have them under
ADMISSION_DIGEST = "policy.digest"
"""The settings that every document was last held against."""

ADMISSION_CURSOR = "policy.cursor"
"""How far the sweep towards a new digest is: ``DIGEST:ROUND:ID``."""

POLICIES_SWEPT = "policies.swept"
"""The patterns of policy ACLs by which the classes of all documents were last made."""

POLICIES_CURSOR = "policies.cursor"
"""How far the sweep towards other patterns of policy ACLs is: ``DIGEST:ID``."""

POLICIES_CLOSED = "policies.closed"
"""The numbers of policy ACLs, 0 for none, whose classes may hold documents of another one until the index has caught up: a JSON list."""

SETTINGS_GENERATION = "settings.generation"
"""How often settings were changed by API."""

PATTERNS_KNOWN = "patterns.known"
"""The URL patterns that every document was held against, or will be at its next writing: a JSON list."""

PATTERNS_CURSOR = "patterns.cursor"
"""How far the sweep towards other patterns is: ``DIGEST:ID``."""

AUTHORIZATION_RESTING = "authorization.resting"
"""The servers that are not asked about documents for a while: a JSON list, empty when there are none."""

SIGNIN_KEY = "signin.key"
"""The key by which cookies and forms of signing in are signed, in hex."""

SAML_KEY = "signin.saml.key"
"""The key and certificate by which this server is known to providers of SAML, as PEM."""

HISTORY_SINCE = "history.since"
"""Since when what was before is kept, in ISO 8601; none where it was kept from the first feed on."""
