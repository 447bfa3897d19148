"""The headers by which adaptors and web servers say what the crawler shall do with a document."""
