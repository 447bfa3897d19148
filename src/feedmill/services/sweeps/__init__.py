"""Sweeps that check all documents against changed settings, a bounded transaction at a time."""
