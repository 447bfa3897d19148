"""Converts bytes to the model and the model to bytes: one folder for each protocol, no I/O."""
