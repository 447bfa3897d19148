"""Speaks to the servers that decide about documents."""
