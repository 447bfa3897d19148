"""The index in memory, for tests."""
