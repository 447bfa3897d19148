"""URLs: digests, patterns, the networks and hosts that they name."""
