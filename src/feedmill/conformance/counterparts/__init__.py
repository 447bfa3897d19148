"""Servers that do what a script says, for tests of clients: an appliance, an adaptor, a server of seedlists.

Source of the script format: docs/howto/test-a-server-or-a-client.md.
"""
