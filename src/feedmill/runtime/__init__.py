"""Processes: the parent, the roles, their servers, and what each process records of itself."""
