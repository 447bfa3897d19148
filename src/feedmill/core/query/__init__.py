"""Queries: the language, the tree, and the parameters that add to it."""
