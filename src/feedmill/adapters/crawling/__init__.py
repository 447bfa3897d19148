"""Fetches the URLs of the crawler: over HTTP, and from shares of files."""
