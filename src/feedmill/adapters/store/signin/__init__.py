"""Users, sessions and tokens, in SQL."""
