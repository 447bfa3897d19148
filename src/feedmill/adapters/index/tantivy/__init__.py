"""The index on Tantivy."""
