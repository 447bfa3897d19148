"""Databases as pull sources: a query lists rows, and each row is a document."""
