"""Names of accounts, digests of sessions, credentials as text."""
