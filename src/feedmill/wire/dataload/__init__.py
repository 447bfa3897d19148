"""Thunderstone's dataload: items that insert, update and delete documents, and the reply that says what became of each."""
