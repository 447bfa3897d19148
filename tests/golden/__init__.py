"""Bytes of the protocols, and what they mean."""
