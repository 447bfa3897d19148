"""The groups database and its history, in SQL."""
