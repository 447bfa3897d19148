"""Fetches what the crawler asks for: over HTTP, and from shares of files."""
