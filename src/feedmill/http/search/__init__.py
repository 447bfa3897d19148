"""The search port."""
