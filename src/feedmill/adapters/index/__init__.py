"""Search engines behind the ports ``SearchIndex`` and ``IndexWriter``."""
