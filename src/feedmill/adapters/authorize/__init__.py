"""Clients of the servers that authorize users for documents."""
