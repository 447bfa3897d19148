"""The tests; each folder is one kind of test."""
