"""Fuzzers for every parser of what others send: ``make fuzz``; a short, deterministic run of each is part of ``make test``."""
