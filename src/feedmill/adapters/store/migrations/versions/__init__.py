"""One file for each revision. A published migration is never changed and imports nothing of the program."""
