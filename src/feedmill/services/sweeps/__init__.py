"""Holding all documents against settings that have changed, a bounded transaction at a time."""
