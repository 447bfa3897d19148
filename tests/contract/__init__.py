"""One suite for each port, run on each of its adapters."""
