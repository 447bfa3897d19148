"""Bytes to model and model to bytes, one folder a protocol, no I/O."""
