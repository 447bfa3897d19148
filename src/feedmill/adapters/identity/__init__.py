"""Fills what signing in needs of the outside world, one technology a file; extras are imported by their own file alone."""
