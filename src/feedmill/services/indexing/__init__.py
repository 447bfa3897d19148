"""Documents on their way from the store into the index: extracted, linked, written."""
