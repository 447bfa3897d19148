"""Readers of archives and compressed files: ``compressed`` for one file, the others for archives."""
