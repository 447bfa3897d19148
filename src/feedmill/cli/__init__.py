"""The command line: one command a service call."""
