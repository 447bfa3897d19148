"""The command line: one command for each service call."""
