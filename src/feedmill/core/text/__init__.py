"""Texts: words, dates, numbers with their units, snippets."""
