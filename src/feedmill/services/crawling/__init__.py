"""The crawler: which URLs are crawled, and what becomes of the pages."""
